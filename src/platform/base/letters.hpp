// Classes of characters, in ASCII whatever the locale is.
#pragma once

namespace berth {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
constexpr bool is_hex_digit(char c) { return is_lower_hex(c) || (c >= 'A' && c <= 'F'); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c; }

// 0 to 15; -1 for what is no hex digit.
constexpr int hex_value(char c) {
    if (!is_hex_digit(c)) return -1;
    return is_digit(c) ? c - '0' : to_lower(c) - 'a' + 10;
}

}  // namespace berth
