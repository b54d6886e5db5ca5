// Ed25519 signatures (RFC 8032): between server and host agents.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "crypto/secret.hpp"

namespace berth::crypto {

struct Ed25519PublicKey {
    std::array<char, 32> bytes{};

    static std::optional<Ed25519PublicKey> from_bytes(std::string_view thirty_two_bytes);
    friend auto operator<=>(const Ed25519PublicKey&, const Ed25519PublicKey&) = default;
    std::string_view view() const { return {bytes.data(), bytes.size()}; }

    // False for a signature of any other length than 64 bytes.
    bool verify(std::string_view data, std::string_view signature) const;
};

class Ed25519Key {
public:
    explicit Ed25519Key(Secret seed) : seed_(std::move(seed)) {}

    Ed25519PublicKey public_key() const;
    Bytes sign(std::string_view data) const;  // 64 bytes, the same for the same data

private:
    Secret seed_;
};

}  // namespace berth::crypto
