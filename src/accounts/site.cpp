#include "accounts/site.hpp"

namespace berth::accounts {

Site::Site(const std::string& base_url_, std::string brand_)
    : brand(std::move(brand_)), base_url(base_url_), secure(base_url_.starts_with("https://")) {
    const std::size_t host = base_url.find("://") + 3;
    const std::size_t end = std::min(base_url.find('/', host), base_url.size());
    origin = base_url.substr(0, end);
    domain = base_url.substr(host, end - host);
    cookie = secure ? "__Host-session" : "session";
}

}  // namespace berth::accounts
