#include "base/json_text.hpp"

#include <array>
#include <cstdint>

#include "base/bytes.hpp"

namespace berth {
namespace {

// For each byte: 0 when it is copied as it is, else the letter after the backslash ('u' for the
// six-character form, '8' for the start of a multi-byte sequence).
constexpr std::array<char, 256> make_escapes() {
    std::array<char, 256> table{};
    for (std::size_t i = 0; i < 0x20; ++i) table[i] = 'u';
    for (std::size_t i = 0x80; i < 256; ++i) table[i] = '8';
    table['\b'] = 'b';
    table['\f'] = 'f';
    table['\n'] = 'n';
    table['\r'] = 'r';
    table['\t'] = 't';
    table['"'] = '"';
    table['\\'] = '\\';
    return table;
}
constexpr std::array<char, 256> escapes = make_escapes();

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += '"';
    std::size_t copied = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const char escape = escapes[byte];
        if (escape == 0) {
            ++i;
            continue;
        }
        if (escape == '8') {
            if (const std::size_t length = utf8_sequence_length(text.substr(i)); length != 0) {
                i += length;
                continue;
            }
        }
        out.append(text, copied, i - copied);
        if (escape == '8') {
            out += "\xEF\xBF\xBD";
        } else if (escape == 'u') {
            out += "\\u00";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        } else {
            out += '\\';
            out += escape;
        }
        copied = ++i;
    }
    out.append(text, copied);
    out += '"';
}

std::string json_quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

}  // namespace berth
