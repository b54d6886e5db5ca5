#include "base/bytes.hpp"

#include <array>

#include "base/letters.hpp"

namespace berth {
namespace {

constexpr std::string_view hex_letters = "0123456789abcdef";
constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view base64url_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> reverse(std::string_view letters) {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (std::size_t i = 0; i < letters.size(); ++i)
        table[static_cast<unsigned char>(letters[i])] = static_cast<std::int8_t>(i);
    return table;
}
constexpr auto base64url_values = reverse(base64url_letters);

std::string encode_base64(std::string_view bytes, std::string_view letters) {
    std::string out;
    out.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        for (count += 8; count >= 6; count -= 6) out += letters[(bits >> (count - 6)) & 63];
    }
    if (count > 0) out += letters[(bits << (6 - count)) & 63];
    return out;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string to_hex(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += hex_letters[byte >> 4];
        out += hex_letters[byte & 15];
    }
    return out;
}

std::optional<Bytes> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    Bytes out;
    out.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_value(text[i]);
        const int low = hex_value(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high * 16 + low);
    }
    return out;
}

std::string to_base64url(std::string_view bytes) { return encode_base64(bytes, base64url_letters); }

std::string to_base64(std::string_view bytes) {
    std::string out = encode_base64(bytes, base64_letters);
    out.append((4 - out.size() % 4) % 4, '=');
    return out;
}

std::optional<Bytes> from_base64url(std::string_view text) {
    if (text.size() % 4 == 1) return std::nullopt;
    Bytes out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const int value = base64url_values[static_cast<unsigned char>(c)];
        if (value < 0) return std::nullopt;
        bits = (bits << 6) | static_cast<std::uint32_t>(value);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out += static_cast<char>((bits >> count) & 0xFF);
        }
    }
    if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return out;
}

std::optional<Bytes> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
    std::string letters(text);
    for (char& c : letters) {
        if (c == '-' || c == '_') return std::nullopt;
        if (c == '+') c = '-';
        if (c == '/') c = '_';
    }
    return from_base64url(letters);
}

std::size_t utf8_sequence_length(std::string_view text) {
    if (text.empty()) return 0;
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if (!is_continuation(text[i])) return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool surrogate = first == 0xED && second >= 0xA0;
    const bool too_high = first == 0xF4 && second >= 0x90;
    return overlong || surrogate || too_high ? 0 : length;
}

std::optional<std::size_t> utf8_length(std::string_view text) {
    std::size_t points = 0;
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        if (length == 0) return std::nullopt;
        text.remove_prefix(length);
        ++points;
    }
    return points;
}

void append_big_endian(Bytes& out, std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 0xFF);
}

std::uint64_t load_big_endian(const char* eight_bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = (value << 8) | static_cast<unsigned char>(eight_bytes[i]);
    return value;
}

}  // namespace berth
