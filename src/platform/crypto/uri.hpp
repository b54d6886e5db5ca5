// The grammar of RFC 3986: whether a text is a URI or the authority of one, and their parts.
// Nothing is resolved, decoded or normalised. The parts are views of the text that was given.
#pragma once

#include <optional>
#include <string_view>

namespace berth::crypto {

struct Uri {
    std::string_view scheme;
    std::optional<std::string_view> authority;
    std::string_view path;
    std::optional<std::string_view> query;
    std::optional<std::string_view> fragment;
};
std::optional<Uri> parse_uri(std::string_view text);  // with a scheme; the rest may be empty

// [ userinfo "@" ] host [ ":" port ]. The RFC would let the host be empty; here it may not be.
struct Authority {
    std::optional<std::string_view> user;
    std::string_view host_and_port;
    std::string_view host;  // an IPv6 address with its brackets
    std::optional<std::string_view> port;
};
std::optional<Authority> parse_authority(std::string_view text);

bool is_uri_scheme(std::string_view text);
inline bool is_uri(std::string_view text) { return parse_uri(text).has_value(); }
inline bool is_authority(std::string_view text) { return parse_authority(text).has_value(); }

// Whether a host is "localhost" or an address of the loopback interface.
bool is_this_machine(std::string_view host);

bool is_unreserved(char letter);  // letters, digits and -._~
bool is_reserved(char letter);    // :/?#[]@ and !$&'()*+,;=
// Path characters: unreserved, percent-encoded, and most of the reserved ones.
bool is_path_text(std::string_view text);

}  // namespace berth::crypto
