// Where the service is found by browsers and wallets: everything that is bound to an origin.
#pragma once

#include <string>
#include <string_view>

namespace berth::accounts {

// The session's, over https and over plain http.
inline constexpr std::string_view secure_cookie = "__Host-session";
inline constexpr std::string_view plain_cookie = "session";

struct Site {
    explicit Site(const std::string& base_url);

    std::string base_url;  // "https://berth.example", spelled as browsers do
    std::string origin;    // scheme, host, and port when it is not the scheme's own
    std::string domain;    // host and port, as in a signed message
    bool secure = false;   // https
    std::string cookie;    // the name of the session's
};

}  // namespace berth::accounts
