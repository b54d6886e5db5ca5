#include "crypto/secret.hpp"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/check.hpp"

namespace berth::crypto {

Secret::Secret(std::string_view bytes) {
    check(bytes.size() == size, "a secret key has 32 bytes");
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

Secret Secret::make(Random& random) {
    Secret secret;
    random.fill(secret.bytes_);
    return secret;
}

// The compiler may drop a plain memset of an object that dies; it may not drop this.
Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Secret::Secret(Secret&& other) noexcept : bytes_(other.bytes_) {
    OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

Secret& Secret::operator=(Secret&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace berth::crypto
