#include "crypto/token.hpp"

#include <boost/crc.hpp>

#include <algorithm>

#include "base/check.hpp"
#include "base/letters.hpp"
#include "base/one_of.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view letters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t random_bytes = 32;
constexpr std::size_t random_letters = 43;  // 62^43 is just above 2^256
constexpr std::size_t crc_letters = 6;      // and 62^6 above 2^32

// The big-endian number in base 62, with leading zeros up to `width` letters.
std::string to_base62(Bytes number, std::size_t width) {
    std::string out(width, letters[0]);
    for (auto place = out.rbegin(); place != out.rend(); ++place) {
        unsigned remainder = 0;
        for (char& byte : number) {
            const unsigned value = remainder * 256 + static_cast<unsigned char>(byte);
            byte = static_cast<char>(value / 62);
            remainder = value % 62;
        }
        *place = letters[remainder];
    }
    return out;
}

std::string checksum(std::string_view text) {
    std::string out(crc_letters, letters[0]);
    std::uint32_t rest = crc32(text);
    for (auto place = out.rbegin(); place != out.rend(); ++place, rest /= 62)
        *place = letters[rest % 62];
    return out;
}

}  // namespace

std::string make_token(std::string_view prefix, Random& random) {
    require(prefix.empty() || is_one_of(prefix, issued::prefixes),
            "a secret begins with a prefix that is known wherever secrets are taken out");
    std::string token(prefix);
    token += to_base62(random.bytes(random_bytes), random_letters);
    return token + checksum(token);
}

bool looks_like_token(std::string_view prefix, std::string_view text) {
    if (text.size() != prefix.size() + random_letters + crc_letters || !text.starts_with(prefix))
        return false;
    const std::size_t end = text.size() - crc_letters;
    const std::string_view body = text.substr(prefix.size(), random_letters);
    return std::all_of(body.begin(), body.end(), is_alphanumeric) &&
           checksum(text.substr(0, end)) == text.substr(end);
}

std::uint32_t crc32(std::string_view data) {
    boost::crc_32_type crc;
    crc.process_bytes(data.data(), data.size());
    return crc.checksum();
}

}  // namespace berth::crypto
