#include "crypto/ed25519.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "base/check.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {
namespace {

constexpr std::size_t ed25519_signature_bytes = 64;

struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
};
using KeyHandle = std::unique_ptr<EVP_PKEY, Free>;
using DigestHandle = std::unique_ptr<EVP_MD_CTX, Free>;

KeyHandle private_handle(std::string_view seed) {
    KeyHandle key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed), seed.size()));
    check(key != nullptr, "OpenSSL takes every seed of 32 bytes");
    return key;
}

}  // namespace

std::optional<Ed25519PublicKey> Ed25519PublicKey::from_bytes(std::string_view thirty_two_bytes) {
    Ed25519PublicKey key;
    if (thirty_two_bytes.size() != key.bytes.size()) return std::nullopt;
    std::copy(thirty_two_bytes.begin(), thirty_two_bytes.end(), key.bytes.begin());
    return key;
}

bool Ed25519PublicKey::verify(std::string_view data, std::string_view signature) const {
    if (signature.size() != ed25519_signature_bytes) return false;
    const KeyHandle key(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(view()), bytes.size()));
    const DigestHandle digest(EVP_MD_CTX_new());
    check(key != nullptr && digest != nullptr, "OpenSSL takes a public key");
    check(EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1,
          "OpenSSL has Ed25519");
    // Bytes that are no point of the curve fail here as any wrong signature does.
    return EVP_DigestVerify(digest.get(), raw(signature), signature.size(), raw(data),
                            data.size()) == 1;
}

Ed25519PublicKey Ed25519Key::public_key() const {
    Bytes bytes(Secret::size, '\0');
    std::size_t length = bytes.size();
    check(EVP_PKEY_get_raw_public_key(private_handle(seed_.view()).get(), raw(bytes), &length) == 1,
          "a private key has a public one");
    return *Ed25519PublicKey::from_bytes(bytes);
}

Bytes Ed25519Key::sign(std::string_view data) const {
    const KeyHandle key = private_handle(seed_.view());
    const DigestHandle digest(EVP_MD_CTX_new());
    Bytes signature(ed25519_signature_bytes, '\0');
    std::size_t length = signature.size();
    check(digest != nullptr &&
              EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
              EVP_DigestSign(digest.get(), raw(signature), &length, raw(data), data.size()) == 1,
          "a private key signs");
    return signature;
}

}  // namespace berth::crypto
