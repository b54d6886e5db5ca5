// Keys from passphrases, and the cipher that keystores of wallets use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"

namespace berth::crypto {

struct ScryptCost {
    std::uint64_t n;
    std::uint64_t r;
    std::uint64_t p;
};

// 32 bytes (RFC 7914); empty when the cost is none that scrypt has, or takes more than 512 MiB.
std::optional<Bytes> scrypt(std::string_view passphrase, std::string_view salt,
                            const ScryptCost& cost);
// 32 bytes (RFC 8018, HMAC with SHA-256); empty for more than 10 million rounds.
std::optional<Bytes> pbkdf2_sha256(std::string_view passphrase, std::string_view salt,
                                   std::uint64_t rounds);

// Encrypts, and decrypts; key and start have 16 bytes.
Bytes aes_128_ctr(std::string_view key, std::string_view start, std::string_view data);

}  // namespace berth::crypto
