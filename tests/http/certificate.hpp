// Self-signed certificates for 127.0.0.1, made on the spot.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
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

// SHA-256 of the public key of a key file, as it is pinned.
inline std::string key_digest(const std::string& key_file) {
    std::FILE* const file = std::fopen(key_file.c_str(), "r");
    const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> pair(
        ::PEM_read_PrivateKey(file, nullptr, nullptr, nullptr), &::EVP_PKEY_free);
    std::fclose(file);
    unsigned char* bytes = nullptr;
    const int size = ::i2d_PUBKEY(pair.get(), &bytes);
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    ::SHA256(bytes, static_cast<std::size_t>(size),
             reinterpret_cast<unsigned char*>(digest.data()));
    OPENSSL_free(bytes);
    return digest;
}

}  // namespace berth::http
