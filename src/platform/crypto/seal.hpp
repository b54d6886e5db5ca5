// Encryption at rest (AES-256-GCM): values that the database keeps but must not be able to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/random.hpp"
#include "crypto/secret.hpp"

namespace berth::crypto {

inline constexpr std::size_t seal_bytes_max = 1 << 20;

// Safe to use from any thread. Nonces are random: one key is good for 2^32 values.
class Sealer {
public:
    // Seals with `key`; what one of the others has sealed opens, too, while keys are exchanged.
    explicit Sealer(Secret key, std::vector<Secret> others = {})
        : key_(std::move(key)), others_(std::move(others)) {}

    // `context` says where the value belongs, such as its table and row id. It is not stored, and
    // a sealed value that was moved elsewhere does not open there.
    struct Value {
        std::string_view bytes;
        std::string_view context;
    };

    // A version byte, the nonce, as many bytes as the value has, and the tag.
    Bytes seal(const Value& plain, Random& random) const;
    // Empty unless it was sealed by one of our keys in this context, to the last bit.
    std::optional<Bytes> open(const Value& sealed) const;
    bool is_current(const Value& sealed) const;  // sealed with `key`

private:
    Secret key_;
    std::vector<Secret> others_;
};

// Brings what was sealed under the present key, so that an earlier one can go.
class Resealing {
public:
    Resealing(const Sealer& sealer, Random& random) : sealer_(sealer), random_(random) {}

    // What to put in its place; empty when it is under the present key, or opens under none.
    std::optional<Bytes> renew(const Sealer::Value& sealed);

    std::int64_t renewed = 0;
    std::int64_t lost = 0;  // opens under none of the keys

private:
    const Sealer& sealer_;
    Random& random_;
};

}  // namespace berth::crypto
