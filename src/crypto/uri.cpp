#include "crypto/uri.hpp"

// The parser is compiled here and nowhere else, so that its library is not needed at run time.
#include <boost/url/src.hpp>

#include <boost/url/grammar/parse.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/authority_rule.hpp>
#include <boost/url/rfc/pchars.hpp>
#include <boost/url/rfc/pct_encoded_rule.hpp>

#include <algorithm>

#include "base/letters.hpp"

namespace berth::crypto {
namespace {

namespace urls = boost::urls;

bool contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

}  // namespace

bool is_uri_scheme(std::string_view text) {
    return !text.empty() && is_letter(text[0]) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_alphanumeric(c) || contains("+-.", c); });
}

bool is_uri(std::string_view text) {
    const auto parsed = urls::parse_uri(text);
    if (!parsed || !parsed->has_authority()) return parsed.has_value();
    // Boost 1.81 takes what follows the authority as a path, also without its slash.
    const auto path = parsed->encoded_path();
    return !parsed->encoded_host().empty() && (path.empty() || path.starts_with('/'));
}

bool is_authority(std::string_view text) {
    const auto parsed = urls::parse_authority(text);
    return parsed && !parsed->encoded_host().empty();
}

bool is_unreserved(char letter) { return is_alphanumeric(letter) || contains("-._~", letter); }

bool is_reserved(char letter) { return contains(":/?#[]@!$&'()*+,;=", letter); }

bool is_path_text(std::string_view text) {
    return urls::grammar::parse(text, urls::pct_encoded_rule(urls::pchars)).has_value();
}

}  // namespace berth::crypto
