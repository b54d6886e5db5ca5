// Signatures of plain Ethereum accounts: who signed, and signing with a key of our own. Contract
// wallets sign in ways that only a chain can judge; their signatures are recognised, not checked.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/random.hpp"
#include "crypto/evm.hpp"
#include "crypto/secret.hpp"

namespace berth::crypto {

inline constexpr std::size_t signature_bytes = 65;

// The 65 bytes r || s || v of "0x" and exactly 130 hex digits.
std::optional<Bytes> parse_signature(std::string_view text);

// Whether the text can only be a contract wallet's: longer than a plain signature (ERC-1271), or
// with the mark of ERC-6492 at its end, for contracts that are not deployed yet. No plain signature
// ends so: its last byte is v.
bool is_smart_wallet_signature(std::string_view text);
// Whether it has that mark: there is no contract yet that could be asked.
bool is_undeployed_signature(std::string_view text);

// What a wallet signs for personal_sign (EIP-191): a text that can be no transaction.
Bytes personal_message_hash(std::string_view text);

// The account that signed the 32-byte hash. Empty for anything but 65 bytes, v other than 0, 1, 27
// or 28, r or s out of range, and high s (a signature has one valid form, not two).
std::optional<Address> recover(std::string_view hash, std::string_view signature);

struct Signature {
    std::array<char, 32> r{};
    std::array<char, 32> s{};  // always low
    int recovery_id = 0;       // 0 or 1: which of the two points with this r

    Bytes bytes() const;  // r || s || v, with v 27 or 28 as wallets write it
};

class SigningKey {
public:
    // Empty unless it is 32 bytes that stand for a number from 1 to the order of the curve - 1.
    static std::optional<SigningKey> from_bytes(std::string_view bytes);
    static SigningKey make(Random& random);

    Address address() const;
    // Deterministic (RFC 6979): the same hash gives the same signature.
    Signature sign(std::string_view hash) const;

private:
    explicit SigningKey(Secret secret) : secret_(std::move(secret)) {}

    Secret secret_;
};

}  // namespace berth::crypto
