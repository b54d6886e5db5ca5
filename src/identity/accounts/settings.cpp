#include "accounts/settings.hpp"

#include "base/bytes.hpp"
#include "mail/address.hpp"

namespace berth::accounts {
namespace {

constexpr std::string_view png_head{"\x89PNG\r\n\x1a\n", 8};

std::size_t big_endian(std::string_view four_bytes) {
    std::size_t value = 0;
    for (const char byte : four_bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

// Chunks of length, name, content and sum, from IHDR to IEND, and nothing behind.
bool is_png(std::string_view bytes) {
    constexpr std::size_t frame_bytes = 12;
    if (!bytes.starts_with(png_head)) return false;
    bytes.remove_prefix(png_head.size());
    if (bytes.size() < frame_bytes || bytes.substr(4, 4) != "IHDR") return false;
    while (bytes.size() >= frame_bytes) {
        const std::size_t length = big_endian(bytes.substr(0, 4));
        if (length > bytes.size() - frame_bytes) return false;
        const bool is_last = bytes.substr(4, 4) == "IEND";
        bytes.remove_prefix(frame_bytes + length);
        if (is_last) return bytes.empty();
    }
    return false;
}

// RIFF, the length of what follows (its lowest byte first), WEBP, and one of its kinds.
bool is_webp(std::string_view bytes) {
    constexpr std::size_t head_bytes = 16;
    if (bytes.size() < head_bytes || !bytes.starts_with("RIFF")) return false;
    const std::string_view given = bytes.substr(4, 4);
    const std::string length(given.rbegin(), given.rend());
    const std::string_view kind = bytes.substr(12, 4);
    return big_endian(length) == bytes.size() - 8 && bytes.substr(8, 4) == "WEBP" &&
           (kind == "VP8 " || kind == "VP8L" || kind == "VP8X");
}

}  // namespace

Logo parse_logo(const std::string& base64) {
    if (base64.empty()) return {};
    auto bytes = from_base64(base64);
    if (!bytes) throw settings::BadValue("must be base64");
    if (bytes->size() > logo_bytes_max) throw settings::BadValue("must be at most 16 KiB");
    const char* const type = is_png(*bytes)    ? "image/png"
                             : is_webp(*bytes) ? "image/webp"
                                               : nullptr;
    if (type == nullptr) throw settings::BadValue("must be a whole PNG or WebP picture");
    return {type, std::make_shared<const std::string>(std::move(*bytes))};
}

std::string parse_contact(const std::string& text) {
    if (!text.empty() && !mail::is_email(text))
        throw settings::BadValue("must be an email address");
    return text;
}

}  // namespace berth::accounts
