// The grammar of RFC 3986, as far as signed messages need it: whether a text is a URI or the
// authority of one. Nothing is resolved, decoded or normalised.
#pragma once

#include <string_view>

namespace berth::crypto {

bool is_uri_scheme(std::string_view text);
bool is_uri(std::string_view text);  // with a scheme; the rest may be empty
// [ userinfo "@" ] host [ ":" port ]. The RFC would let the host be empty; here it may not be.
bool is_authority(std::string_view text);

bool is_unreserved(char letter);  // letters, digits and -._~
bool is_reserved(char letter);    // :/?#[]@ and !$&'()*+,;=
// Path characters: unreserved, percent-encoded, and most of the reserved ones.
bool is_path_text(std::string_view text);

}  // namespace berth::crypto
