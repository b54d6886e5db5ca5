#include "delivery/targets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/money.hpp"
#include "base/problem.hpp"
#include "crypto/uri.hpp"

namespace berth::delivery {
namespace {

constexpr std::int64_t usual_tls_port = 443;
constexpr std::int64_t usual_plain_port = 80;
constexpr std::int64_t free_port_min = 1024;
constexpr std::int64_t port_max = 65535;

[[noreturn]] void refuse(std::string_view place, std::string_view what) {
    throw Problem(Code::invalid_input, fmt::format("{}: {}", place, what));
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    return out;
}

std::string bare_host(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    std::string name = lower(host);
    if (name.ends_with('.')) name.pop_back();  // the same name, spelled to its end
    return name;
}

// One address may be spelled in several ways.
std::string spelled_once(std::string_view host) {
    const std::string bare = bare_host(host);
    const auto address = http::parse_address(bare);
    return address ? http::to_string(*address) : bare;
}

bool is_own(std::string_view host, const TargetRules& rules) {
    const std::string wanted = spelled_once(host);
    return std::any_of(rules.own_hosts.begin(), rules.own_hosts.end(),
                       [&](const std::string& own) { return spelled_once(own) == wanted; });
}

std::int64_t port_of(const crypto::Authority& where, bool is_tls, std::string_view place) {
    const std::int64_t usual = is_tls ? usual_tls_port : usual_plain_port;
    if (!where.port || where.port->empty()) return usual;
    const auto port = parse_decimal(*where.port);
    if (!port || *port > port_max || (*port != usual && *port < free_port_min))
        refuse(place,
               fmt::format("the port must be {}, or {} to {}", usual, free_port_min, port_max));
    return *port;
}

}  // namespace

Target target_of(std::string_view url, const TargetRules& rules, std::string_view place) {
    const auto uri = crypto::parse_uri(url);
    const auto where =
        uri && uri->authority ? crypto::parse_authority(*uri->authority) : std::nullopt;
    if (!where) refuse(place, "must be an address such as https://hooks.example.org/berth");
    const std::string scheme = lower(uri->scheme);
    const bool is_tls = scheme == "https";
    if (!is_tls && (scheme != "http" || rules.reach != http::Reach::anywhere))
        refuse(place, "must begin with https://");
    if (where->user) refuse(place, "must not hold a user or password");
    if (uri->fragment) refuse(place, "must not hold a fragment");
    Target target{std::string(url), bare_host(where->host), port_of(*where, is_tls, place), is_tls};
    if (target.host.empty()) refuse(place, "must name a host");
    if (is_own(target.host, rules)) refuse(place, "must not lead to this service itself");
    return target;
}

TargetRules TargetRules::as_of(db::Transaction& tx) const {
    TargetRules rules = *this;
    if (find_own_hosts)
        for (std::string& host : find_own_hosts(tx)) rules.own_hosts.push_back(std::move(host));
    return rules;
}

Judged judge(const Target& target, const TargetRules& rules) {
    const http::Resolved resolved = rules.resolve(target.host, rules.reach);
    if (resolved.addresses.empty()) return {{}, resolved.reason, resolved.is_ours};
    Judged judged;
    for (const http::Address& address : resolved.addresses) {
        if (judged.addresses.size() == Judged::addresses_max) break;
        const std::string text = http::to_string(address);
        if ((rules.own_listeners != nullptr &&
             rules.own_listeners->contains(address, target.port)) ||
            is_own(text, rules))
            return {{}, "this service itself answers there"};
        judged.addresses.push_back(text);
    }
    return judged;
}

std::string own_host_of(std::string_view base_url) {
    const auto uri = crypto::parse_uri(base_url);
    const auto where =
        uri && uri->authority ? crypto::parse_authority(*uri->authority) : std::nullopt;
    if (!where || crypto::is_this_machine(where->host)) return {};
    return bare_host(where->host);
}

}  // namespace berth::delivery
