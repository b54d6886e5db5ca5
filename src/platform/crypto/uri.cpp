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

// Where the host ends: at its bracket, or before the port. A dotted address is a name by grammar.
std::optional<std::size_t> host_length(std::string_view text) {
    if (!text.starts_with('[')) {
        const std::string_view name = text.substr(0, text.find(':'));
        return !name.empty() && is_made_of(name, "") ? std::optional(name.size()) : std::nullopt;
    }
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view address = text.substr(1, end - 1);
    if (!is_ipv6_address(address) && !is_future_address(address)) return std::nullopt;
    return end + 1;
}

}  // namespace

bool is_uri_scheme(std::string_view text) {
    return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
        return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
    });
}

std::optional<Uri> parse_uri(std::string_view text) {
    const auto rest = cut_off(text, ':');
    if (!rest || !is_uri_scheme(text)) return std::nullopt;
    Uri uri{.scheme = text, .authority = {}, .path = *rest, .query = {}, .fragment = {}};
    uri.fragment = cut_off(uri.path, '#');
    uri.query = cut_off(uri.path, '?');
    if (uri.path.starts_with("//")) {
        uri.path.remove_prefix(2);
        uri.authority = uri.path.substr(0, uri.path.find('/'));
        uri.path.remove_prefix(uri.authority->size());
    }
    const bool good = (!uri.authority || is_authority(*uri.authority)) &&
                      is_made_of(uri.path, ":@/") && is_made_of(uri.query.value_or(""), ":@/?") &&
                      is_made_of(uri.fragment.value_or(""), ":@/?");
    return good ? std::optional(uri) : std::nullopt;
}

std::optional<Authority> parse_authority(std::string_view text) {
    Authority parts;
    if (const auto after_user = cut_off(text, '@')) {
        if (!is_made_of(text, ":")) return std::nullopt;
        parts.user = text;
        text = *after_user;
    }
    const auto length = host_length(text);
    if (!length) return std::nullopt;
    parts.host_and_port = text;
    parts.host = text.substr(0, *length);
    const std::string_view rest = text.substr(*length);
    if (rest.empty()) return parts;
    if (rest.front() != ':' || !is_port(rest.substr(1))) return std::nullopt;
    parts.port = rest.substr(1);
    return parts;
}

bool is_this_machine(std::string_view host) {
    in_addr ignored{};
    return host == "localhost" || host == "[::1]" ||
           (host.starts_with("127.") &&
            inet_pton(AF_INET, std::string(host).c_str(), &ignored) == 1);
}

bool is_unreserved(char letter) {
    return is_letter(letter) || is_digit(letter) || contains("-._~", letter);
}

bool is_reserved(char letter) {
    return contains(general_delimiters, letter) || contains(sub_delimiters, letter);
}

bool is_path_text(std::string_view text) { return is_made_of(text, ":@"); }

}  // namespace berth::crypto
