#include "accounts/site.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace berth::accounts {

Site::Site(const std::string& base_url_)
    : base_url(base_url_), secure(base_url_.starts_with("https://")) {
    const std::size_t host = base_url.find("://") + 3;
    const std::size_t end = std::min(base_url.find('/', host), base_url.size());
    domain = base_url.substr(host, end - host);
    std::transform(domain.begin(), domain.end(), domain.begin(), http::to_lower);
    const std::string_view default_port = secure ? ":443" : ":80";
    if (domain.ends_with(default_port)) domain.erase(domain.rfind(':'));
    base_url = base_url.substr(0, host) + domain + base_url.substr(end);
    origin = base_url.substr(0, host) + domain;
    cookie = secure ? "__Host-session" : "session";
}

}  // namespace berth::accounts
