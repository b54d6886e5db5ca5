#include "accounts/site.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/letters.hpp"
#include "crypto/uri.hpp"

namespace berth::accounts {

Site::Site(const std::string& address) {
    const auto uri = crypto::parse_uri(address);
    const auto where = crypto::parse_authority(uri ? uri->authority.value_or("") : "");
    check(where.has_value(), "the address of the service was checked when it was read");
    secure = uri->scheme == "https";
    const bool default_port = where->port == (secure ? "443" : "80");
    domain = default_port ? where->host : where->host_and_port;
    std::transform(domain.begin(), domain.end(), domain.begin(), to_lower);
    origin = std::string(uri->scheme).append("://").append(domain);
    base_url = origin + std::string(uri->path);
    cookie = secure ? secure_cookie : plain_cookie;
}

}  // namespace berth::accounts
