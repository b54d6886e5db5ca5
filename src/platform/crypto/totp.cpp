#include "crypto/totp.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.hpp"
#include "crypto/hash.hpp"
#include "crypto/raw.hpp"
#include "crypto/uri.hpp"

namespace berth::crypto {
namespace {

constexpr std::int64_t step_micros = 30'000'000;
constexpr std::size_t sha1_bytes = 20;
constexpr std::size_t code_digits = 6;
constexpr std::string_view base32_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

Bytes hmac_sha1(std::string_view key, std::string_view data) {
    Bytes out(sha1_bytes, '\0');
    unsigned length = 0;
    const unsigned char* done = HMAC(EVP_sha1(), raw(key), static_cast<int>(key.size()), raw(data),
                                     data.size(), raw(out), &length);
    check(done != nullptr && length == sha1_bytes, "OpenSSL computes HMAC-SHA-1");
    return out;
}

void append_percent_encoded(std::string& out, std::string_view text) {
    constexpr std::string_view hex_letters = "0123456789ABCDEF";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_unreserved(c))
            out += c;
        else
            ((out += '%') += hex_letters[byte >> 4]) += hex_letters[byte & 15];
    }
}

}  // namespace

std::int64_t totp_step(Time now) { return now.micros / step_micros; }

std::string totp_code(std::string_view secret, std::int64_t step) {
    Bytes counter;
    append_big_endian(counter, static_cast<std::uint64_t>(step));
    const Bytes hash = hmac_sha1(secret, counter);
    // RFC 4226 section 5.3: the last four bits say which four bytes to take, without their sign.
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number = (number << 8) | static_cast<unsigned char>(hash[(hash.back() & 15U) + i]);
    return fmt::format("{:06}", (number & 0x7FFF'FFFF) % 1'000'000);
}

std::optional<std::int64_t> match_totp(std::string_view secret, std::string_view code, Time now) {
    if (code.size() != code_digits) return std::nullopt;
    const std::int64_t current = totp_step(now);
    const bool is_current = equal_in_constant_time(totp_code(secret, current), code);
    const bool is_previous = equal_in_constant_time(totp_code(secret, current - 1), code);
    if (is_current) return current;
    if (is_previous) return current - 1;
    return std::nullopt;
}

std::string to_base32(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() * 8 + 4) / 5);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        for (count += 8; count >= 5; count -= 5) out += base32_letters[(bits >> (count - 5)) & 31];
    }
    if (count > 0) out += base32_letters[(bits << (5 - count)) & 31];
    return out;
}

std::optional<Bytes> from_base32(std::string_view text) {
    Bytes out;
    out.reserve(text.size() * 5 / 8);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t value = base32_letters.find(c);
        if (value == std::string_view::npos) return std::nullopt;
        bits = (bits << 5) | static_cast<std::uint32_t>(value);
        count += 5;
        if (count >= 8) {
            count -= 8;
            out += static_cast<char>((bits >> count) & 0xFF);
        }
    }
    // Five or more spare bits are a letter too many.
    if (count >= 5 || (bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return out;
}

std::string otpauth_uri(const TotpEnrollment& enrollment) {
    std::string out = "otpauth://totp/";
    append_percent_encoded(out, enrollment.issuer);
    out += ':';
    append_percent_encoded(out, enrollment.account);
    out += "?secret=" + to_base32(enrollment.secret) + "&issuer=";
    append_percent_encoded(out, enrollment.issuer);
    return out + "&algorithm=SHA1&digits=6&period=30";
}

}  // namespace berth::crypto
