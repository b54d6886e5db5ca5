// By hand: Boost.URL 1.81 ends the process on some texts that are no URI, and anyone may send one.
#include "crypto/uri.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/letters.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view general_delimiters = ":/?#[]@";
constexpr std::string_view sub_delimiters = "!$&'()*+,;=";

bool contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

// Cuts the text at the first `sign` and gives what follows it; empty if there is none.
std::optional<std::string_view> cut_off(std::string_view& text, char sign) {
    const std::size_t at = text.find(sign);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(at + 1);
    text = text.substr(0, at);
    return rest;
}

// Whether all of the text is unreserved, a sub-delimiter, one of `more`, or percent-encoded.
bool is_made_of(std::string_view text, std::string_view more) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (is_unreserved(c) || contains(sub_delimiters, c) || contains(more, c)) continue;
        if (c != '%' || text.size() - i < 3) return false;
        if (!is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2])) return false;
        i += 2;
    }
    return true;
}

// "v", a version, ".", and whatever that version will mean.
bool is_future_address(std::string_view text) {
    if (!text.starts_with('v') && !text.starts_with('V')) return false;
    text.remove_prefix(1);
    const auto address = cut_off(text, '.');
    return address && !text.empty() && std::all_of(text.begin(), text.end(), is_hex_digit) &&
           !address->empty() && !contains(*address, '%') && is_made_of(*address, ":");
}

bool is_ipv6_address(std::string_view text) {
    in6_addr ignored{};
    return !contains(text, '\0') && inet_pton(AF_INET6, std::string(text).c_str(), &ignored) == 1;
}

bool is_port(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }

// A dotted address is a name as well, by grammar.
bool is_host_and_port(std::string_view text) {
    if (!text.starts_with('[')) {
        const auto port = cut_off(text, ':');
        return !text.empty() && is_made_of(text, "") && is_port(port.value_or(""));
    }
    text.remove_prefix(1);
    const auto rest = cut_off(text, ']');
    if (!rest || (!is_ipv6_address(text) && !is_future_address(text))) return false;
    return rest->empty() || (rest->front() == ':' && is_port(rest->substr(1)));
}

// What stands between the scheme and the query.
bool is_hierarchy(std::string_view text) {
    if (!text.starts_with("//")) return is_made_of(text, ":@/");
    text.remove_prefix(2);
    const std::size_t path = std::min(text.find('/'), text.size());
    return is_authority(text.substr(0, path)) && is_made_of(text.substr(path), ":@/");
}

}  // namespace

bool is_uri_scheme(std::string_view text) {
    return !text.empty() && is_letter(text[0]) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
           });
}

bool is_uri(std::string_view text) {
    auto rest = cut_off(text, ':');
    if (!rest || !is_uri_scheme(text)) return false;
    const auto fragment = cut_off(*rest, '#');
    const auto query = cut_off(*rest, '?');
    return (!fragment || is_made_of(*fragment, ":@/?")) && (!query || is_made_of(*query, ":@/?")) &&
           is_hierarchy(*rest);
}

bool is_authority(std::string_view text) {
    const auto host = cut_off(text, '@');
    if (!host) return is_host_and_port(text);
    return is_made_of(text, ":") && is_host_and_port(*host);
}

bool is_unreserved(char letter) {
    return is_letter(letter) || is_digit(letter) || contains("-._~", letter);
}

bool is_reserved(char letter) {
    return contains(general_delimiters, letter) || contains(sub_delimiters, letter);
}

bool is_path_text(std::string_view text) { return is_made_of(text, ":@"); }

}  // namespace berth::crypto
