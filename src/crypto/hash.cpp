#include "crypto/hash.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {
namespace {

constexpr std::size_t digest_bytes = 32;

}  // namespace

Bytes sha256(std::string_view data) {
    Bytes out(digest_bytes, '\0');
    unsigned length = 0;
    const int done = EVP_Digest(data.data(), data.size(), raw(out), &length, EVP_sha256(), nullptr);
    check(done == 1 && length == digest_bytes, "OpenSSL hashes with SHA-256");
    return out;
}

Bytes hmac_sha256(std::string_view key, std::string_view data) {
    Bytes out(digest_bytes, '\0');
    unsigned length = 0;
    const unsigned char* done = HMAC(EVP_sha256(), raw(key), static_cast<int>(key.size()),
                                     raw(data), data.size(), raw(out), &length);
    check(done != nullptr && length == digest_bytes, "OpenSSL computes HMAC-SHA-256");
    return out;
}

}  // namespace berth::crypto
