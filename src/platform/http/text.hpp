// The letters of HTTP: which bytes make a token, a field value, a target; comparison without case.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/letters.hpp"

namespace berth::http {

inline bool equal_without_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (to_lower(a[i]) != to_lower(b[i])) return false;
    return true;
}

// Empties a text and gives its memory back, which assigning an empty one does not.
inline void free_text(std::string& text) { std::string().swap(text); }

namespace detail {

using Letters = std::array<bool, 256>;

inline constexpr Letters letters(std::string_view punctuation) {
    Letters set{};
    for (std::size_t i = 0; i < set.size(); ++i) set[i] = is_alphanumeric(static_cast<char>(i));
    for (const char c : punctuation) set[static_cast<unsigned char>(c)] = true;
    return set;
}

inline constexpr Letters token_letters = letters("!#$%&'*+-.^_`|~");
// RFC 3986 host and port, less the comma: a list of hosts must not pass as one.
inline constexpr Letters host_letters = letters("-._~%!$&'()*+;=:[]");

inline constexpr bool all_of(std::string_view text, const Letters& set) {
    for (const char c : text)
        if (!set[static_cast<unsigned char>(c)]) return false;
    return true;
}

}  // namespace detail

inline bool is_token_letter(char c) { return detail::token_letters[static_cast<unsigned char>(c)]; }
inline bool is_token(std::string_view text) {
    return !text.empty() && detail::all_of(text, detail::token_letters);
}
// An empty host is what RFC 9112 asks of a client whose address has none.
inline bool is_host(std::string_view text) { return detail::all_of(text, detail::host_letters); }

// Origin form.
inline bool is_target(std::string_view text) {
    if (!text.starts_with('/')) return false;
    for (const char c : text)
        if (c <= ' ' || c > '~' || c == '#') return false;
    return true;
}

// Visible ASCII, space, tab, and bytes over 127, which are passed on as they are.
inline bool is_field_value(std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
    }
    return true;
}

inline std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

}  // namespace berth::http
