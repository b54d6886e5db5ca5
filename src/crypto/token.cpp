#include "crypto/token.hpp"

#include <algorithm>
#include <array>

namespace berth::crypto {
namespace {

constexpr std::string_view letters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t random_bytes = 32;
constexpr std::size_t random_letters = 43;  // 62^43 is just above 2^256
constexpr std::size_t crc_letters = 6;      // and 62^6 above 2^32

constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit)
            table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0xEDB8'8320 : 0);
    }
    return table;
}();

constexpr std::array<bool, 256> is_letter = [] {
    std::array<bool, 256> table{};
    for (const char c : letters) table[static_cast<unsigned char>(c)] = true;
    return table;
}();

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
    std::string token(prefix);
    token += to_base62(random.bytes(random_bytes), random_letters);
    return token + checksum(token);
}

bool looks_like_token(std::string_view prefix, std::string_view text) {
    if (text.size() != prefix.size() + random_letters + crc_letters || !text.starts_with(prefix))
        return false;
    const std::size_t end = text.size() - crc_letters;
    const std::string_view body = text.substr(prefix.size(), random_letters);
    return std::all_of(body.begin(), body.end(),
                       [](char c) { return is_letter[static_cast<unsigned char>(c)]; }) &&
           checksum(text.substr(0, end)) == text.substr(end);
}

std::uint32_t crc32(std::string_view data) {
    std::uint32_t crc = 0xFFFF'FFFF;
    for (const char c : data)
        crc = crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

}  // namespace berth::crypto
