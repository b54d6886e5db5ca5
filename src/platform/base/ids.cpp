#include "base/ids.hpp"

#include <algorithm>

namespace berth {
namespace {

constexpr bool dash_before(std::size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

std::string to_string(const Uuid& uuid) {
    const std::string hex = to_hex(uuid.view());
    std::string out;
    out.reserve(36);
    for (std::size_t i = 0; i < 16; ++i) {
        if (dash_before(i)) out += '-';
        out.append(hex, i * 2, 2);
    }
    return out;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
    if (text.size() != 36) return std::nullopt;
    std::string hex;
    hex.reserve(32);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash != (text[i] == '-')) return std::nullopt;
        if (!dash) hex += text[i];
    }
    const auto bytes = from_hex(hex);
    return bytes ? uuid_from_bytes(*bytes) : std::nullopt;
}

std::optional<Uuid> uuid_from_bytes(std::string_view sixteen_bytes) {
    if (sixteen_bytes.size() != 16) return std::nullopt;
    Uuid uuid;
    std::copy(sixteen_bytes.begin(), sixteen_bytes.end(), uuid.bytes.begin());
    return uuid;
}

Uuid make_uuid(Time now, Random& random) {
    Uuid uuid;
    random.fill(uuid.bytes);
    const auto millis = static_cast<std::uint64_t>(now.micros / 1000);
    const auto within = static_cast<std::uint64_t>(now.micros % 1000) * 4096 / 1000;
    for (std::size_t i = 0; i < 6; ++i)
        uuid.bytes[i] = static_cast<char>((millis >> (40 - 8 * i)) & 0xFF);
    uuid.bytes[6] = static_cast<char>(0x70 | (within >> 8));
    uuid.bytes[7] = static_cast<char>(within & 0xFF);
    uuid.bytes[8] = static_cast<char>((uuid.bytes[8] & 0x3F) | 0x80);
    return uuid;
}

}  // namespace berth
