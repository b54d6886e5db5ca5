// Encryption at rest (AES-256-GCM): values that the database keeps but must not be able to read.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "base/random.hpp"
#include "crypto/secret.hpp"

namespace berth::crypto {

inline constexpr std::size_t seal_bytes_max = 1 << 20;

// Safe to use from any thread. Nonces are random: one key is good for 2^32 values.
class Sealer {
public:
    explicit Sealer(Secret key) : key_(std::move(key)) {}

    // `context` says where the value belongs, such as its table and row id. It is not stored, and
    // a sealed value that was moved elsewhere does not open there.
    struct Value {
        std::string_view bytes;
        std::string_view context;
    };

    // A version byte, the nonce, as many bytes as the value has, and the tag.
    Bytes seal(const Value& plain, Random& random) const;
    // Empty unless it was sealed by this key in this context, to the last bit.
    std::optional<Bytes> open(const Value& sealed) const;

private:
    Secret key_;
};

}  // namespace berth::crypto
