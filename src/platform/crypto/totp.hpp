// One-time codes of authenticator apps (RFC 6238: SHA-1, six digits, thirty seconds) and the ways
// their secret is shown. That a step is used only once is for the caller to keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/time.hpp"

namespace berth::crypto {

inline constexpr std::size_t totp_secret_bytes = 20;  // as long as the hash: RFC 4226 section 4

std::int64_t totp_step(Time now);
std::string totp_code(std::string_view secret, std::int64_t step);

// The step that the code belongs to: the current one, or the one before it for a slow typist. Takes
// the same time for every code of six letters.
std::optional<std::int64_t> match_totp(std::string_view secret, std::string_view code, Time now);

// RFC 4648 section 6 without padding. Decoding takes upper case only and refuses non-zero spare
// bits, so that every value has one spelling.
std::string to_base32(std::string_view bytes);
std::optional<Bytes> from_base32(std::string_view text);

struct TotpEnrollment {
    std::string_view issuer;
    std::string_view account;
    std::string_view secret;  // raw bytes
};

// What an app reads from a QR code: otpauth://totp/issuer:account?secret=…
std::string otpauth_uri(const TotpEnrollment& enrollment);

}  // namespace berth::crypto
