// Sign-In with Ethereum (EIP-4361): a text that a wallet shows and signs, to prove control of an
// address to one site, once, within a few minutes. The reader is strict, and writing what was read
// gives the same bytes. Whether a nonce was issued and is unused is for the caller to know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "crypto/evm.hpp"

namespace berth::crypto {

inline constexpr std::size_t siwe_text_bytes_max = 8192;

// RFC 3339 allows offsets and any number of digits in a fraction, so the text is kept. One to nine
// digits are read; a leap second and a day that does not exist are refused.
struct SiweTime {
    std::string text;
    Time time;

    static SiweTime of(Time time);
    static std::optional<SiweTime> parse(std::string_view text);
    friend bool operator==(const SiweTime&, const SiweTime&) = default;
};

struct SiweMessage {
    std::optional<std::string> scheme;
    std::string domain;  // host and port of the site that asks
    Address address;
    std::optional<std::string> statement;  // unreserved and reserved letters of a URI, and spaces
    std::string uri;
    std::string version = "1";
    std::int64_t chain_id = 0;
    std::string nonce;  // eight or more letters and digits
    SiweTime issued_at;
    std::optional<SiweTime> expiration_time;
    std::optional<SiweTime> not_before;
    std::optional<std::string> request_id;
    std::optional<std::vector<std::string>> resources;  // "Resources:" may head an empty list

    friend bool operator==(const SiweMessage&, const SiweMessage&) = default;
};

// Lines end in LF alone and the last one does not end; the address carries its EIP-55 checksum; the
// chain id has no leading zero.
std::optional<SiweMessage> parse_siwe(std::string_view text);

// Empty if the fields make no message: what is written always reads back as the same fields, so no
// field can bring a line of its own.
std::optional<std::string> write_siwe(const SiweMessage& message);

struct SiweProof {
    std::string_view text;
    std::string_view signature;  // hex, as a wallet gives it
};

struct SiweExpected {
    std::string_view domain;
    std::string_view uri;  // exact; a scheme before the domain must be this one's
    std::int64_t chain_id = 0;
    std::string_view nonce;
    Address address;
    Time now;
    // How far the signer's clock may run ahead of ours. Zero where we wrote issued_at ourselves.
    Duration issued_ahead_max{0};
};

enum class SiweFault {
    malformed,
    domain,
    uri,
    chain_id,
    nonce,
    address,
    issued_later,
    expired,
    not_yet_valid,
    smart_wallet,
    signature_malformed,
    signature,
};

// A sentence for the one who sent the proof.
std::string_view describe(SiweFault fault);

// The first thing wrong with the text, whoever signed it; empty if nothing is.
std::optional<SiweFault> verify_siwe_text(std::string_view text, const SiweExpected& expected);
// The first thing wrong with the proof; empty if it holds.
std::optional<SiweFault> verify_siwe(const SiweProof& proof, const SiweExpected& expected);

}  // namespace berth::crypto
