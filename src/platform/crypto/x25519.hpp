// The exchange of keys on Curve25519 (RFC 7748): both sides come to the same secret.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "crypto/secret.hpp"

namespace berth::crypto {

class X25519Key {
public:
    explicit X25519Key(Secret bytes) : bytes_(std::move(bytes)) {}

    Bytes public_key() const;  // 32 bytes
    // None when the other side gave no public key of 32 bytes, or one that leads to no secret.
    std::optional<Bytes> shared_with(std::string_view public_key) const;

private:
    Secret bytes_;
};

}  // namespace berth::crypto
