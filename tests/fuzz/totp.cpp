// What people type or paste: authenticator codes, base32 secrets, tokens; and sealed values from a
// database that somebody else wrote to.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "base/issued.hpp"
#include "crypto/seal.hpp"
#include "crypto/token.hpp"
#include "crypto/totp.hpp"

using namespace berth;
using namespace berth::crypto;

namespace {

constexpr std::string_view secret = "12345678901234567890";

void read_code(std::string_view text) {
    const Time now{59'000'000};
    if (const auto step = match_totp(secret, text, now))
        check(totp_code(secret, *step) == text, "a code is taken only as it was given");
}

void read_base32(std::string_view text) {
    check(from_base32(to_base32(text)) == text, "every text survives base32");
    if (const auto bytes = from_base32(text))
        check(to_base32(*bytes) == text, "base32 has one spelling");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Sealer sealer{Secret(Bytes(Secret::size, 'k'))};
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_code(text);
    read_base32(text);
    looks_like_token(issued::api_key, text);
    otpauth_uri({.issuer = "Berth", .account = text, .secret = secret});
    check(!sealer.open({text, "fuzz"}), "nobody seals without the key");
    return 0;
}
