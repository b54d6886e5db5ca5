// Where the service is found by browsers and wallets: everything that is bound to an origin.
#pragma once

#include <string>

namespace berth::accounts {

struct Site {
    explicit Site(const std::string& base_url);

    std::string base_url;  // "https://berth.example", spelled as browsers do
    std::string origin;    // scheme, host, and port when it is not the scheme's own
    std::string domain;    // host and port, as in a signed message
    bool secure = false;   // https
    std::string cookie;    // the session's name: __Host-session, or session on plain http
};

}  // namespace berth::accounts
