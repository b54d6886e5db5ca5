#include "http/tls_key.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <stdexcept>

namespace berth::http {
namespace {

constexpr long valid_s = 10L * 365 * 24 * 3600;

using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;
using File = std::unique_ptr<FILE, int (*)(FILE*)>;

File open_file(const std::string& path, int flags) {
    const int number = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (number < 0) return {nullptr, &::fclose};
    return {::fdopen(number, (flags & O_WRONLY) != 0 ? "w" : "r"), &::fclose};
}

// Whole or not at all, whatever ends us in between.
void write_file(const std::string& path, const std::function<bool(FILE*)>& write) {
    const std::string beside = path + ".new";
    File file = open_file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    const bool good = file && write(file.get()) && ::fflush(file.get()) == 0 &&
                      ::fsync(::fileno(file.get())) == 0 &&
                      ::rename(beside.c_str(), path.c_str()) == 0;
    if (!good) throw std::runtime_error("cannot write " + path);
}

Certificate sign_itself(EVP_PKEY* key) {
    Certificate certificate(::X509_new(), &::X509_free);
    X509* const made = certificate.get();
    if (made == nullptr) return certificate;
    ::X509_set_version(made, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(made), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(made), -24 * 3600);
    ::X509_gmtime_adj(::X509_getm_notAfter(made), valid_s);
    ::X509_set_pubkey(made, key);
    X509_NAME* const name = ::X509_get_subject_name(made);
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("berth-agent"), -1, -1, 0);
    ::X509_set_issuer_name(made, name);
    if (::X509_sign(made, key, ::EVP_sha256()) == 0) certificate.reset();
    return certificate;
}

void make_both(const std::string& certificate_file, const std::string& key_file) {
    const Key key(::EVP_EC_gen("P-256"), &::EVP_PKEY_free);
    const Certificate certificate = key ? sign_itself(key.get()) : Certificate{nullptr, nullptr};
    if (!certificate) throw std::runtime_error("no TLS key can be made");
    write_file(key_file, [&](FILE* file) {
        return ::PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
    });
    write_file(certificate_file,
               [&](FILE* file) { return ::PEM_write_X509(file, certificate.get()) == 1; });
}

}  // namespace

// The certificate is written last: where it is, its key is.
Bytes make_self_signed(const std::string& certificate_file, const std::string& key_file) {
    if (::access(certificate_file.c_str(), F_OK) != 0) make_both(certificate_file, key_file);
    const File file = open_file(certificate_file, O_RDONLY);
    const Certificate certificate(
        file ? ::PEM_read_X509(file.get(), nullptr, nullptr, nullptr) : nullptr, &::X509_free);
    unsigned char* bytes = nullptr;
    const int size =
        certificate ? ::i2d_X509_PUBKEY(::X509_get_X509_PUBKEY(certificate.get()), &bytes) : 0;
    if (size <= 0) throw std::runtime_error("cannot read " + certificate_file);
    Bytes digest(SHA256_DIGEST_LENGTH, '\0');
    ::SHA256(bytes, static_cast<std::size_t>(size),
             reinterpret_cast<unsigned char*>(digest.data()));
    OPENSSL_free(bytes);
    return digest;
}

}  // namespace berth::http
