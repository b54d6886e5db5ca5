// Self-signed certificates for 127.0.0.1, made on the spot.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace berth::http {

// A folder with certificate.pem and key.pem; write() puts new ones in their place.
class CertificateFolder {
public:
    CertificateFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "tls.XXXXXX").string();
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    ~CertificateFolder() { std::filesystem::remove_all(folder_); }
    CertificateFolder(const CertificateFolder&) = delete;
    CertificateFolder& operator=(const CertificateFolder&) = delete;

    std::string certificate() const { return (folder_ / "certificate.pem").string(); }
    std::string key() const { return (folder_ / "key.pem").string(); }

    void write() {
        const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> pair(
            ::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &::EVP_PKEY_free);
        const std::unique_ptr<X509, decltype(&::X509_free)> x509(::X509_new(), &::X509_free);
        ::X509_set_version(x509.get(), 2);
        ::ASN1_INTEGER_set(::X509_get_serialNumber(x509.get()), ++serial_);
        ::X509_gmtime_adj(::X509_getm_notBefore(x509.get()), -3600);
        ::X509_gmtime_adj(::X509_getm_notAfter(x509.get()), 3600);
        ::X509_set_pubkey(x509.get(), pair.get());
        const std::string name = "berth test " + std::to_string(serial_);
        X509_NAME* const subject = ::X509_get_subject_name(x509.get());
        ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                     0);
        ::X509_set_issuer_name(x509.get(), subject);
        X509_EXTENSION* const names =
            ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
        ::X509_add_ext(x509.get(), names, -1);
        ::X509_EXTENSION_free(names);
        EXPECT_GT(::X509_sign(x509.get(), pair.get(), ::EVP_sha256()), 0);

        std::FILE* file = std::fopen(certificate().c_str(), "w");
        ::PEM_write_X509(file, x509.get());
        std::fclose(file);
        file = std::fopen(key().c_str(), "w");
        ::PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
    }

private:
    std::filesystem::path folder_;
    long serial_ = 0;
};

}  // namespace berth::http
