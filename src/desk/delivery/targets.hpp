// Where a webhook posts to: an address that somebody else chose. It is read strictly when it is
// given, and judged at every attempt: the address that was judged is the one that is dialled, and a
// name that led outside yesterday may lead into our own house today.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "db/db.hpp"
#include "http/resolve.hpp"

namespace berth::delivery {

struct Target {
    std::string url;
    std::string host;  // in lower case; of an IPv6 address without its brackets
    std::int64_t port = 0;
    bool is_tls = true;
};

// What may be dialled.
struct TargetRules {
    http::Reach reach = http::Reach::public_only;  // anywhere: plain http may be used, too
    // Names and addresses by which this service is reached. Another name for one of these addresses
    // has no certificate: it ends before anything is sent.
    std::vector<std::string> own_hosts = {};
    // Those that operators name while it runs.
    std::function<std::vector<std::string>(db::Transaction& tx)> find_own_hosts = {};
    const http::OwnListeners* own_listeners = nullptr;
    std::function<http::Resolved(const std::string& host, http::Reach reach)> resolve =
        &http::resolve;

    TargetRules as_of(db::Transaction& tx) const;  // with all of its own hosts
};

// Throws a Problem that names `place`.
Target target_of(std::string_view url, const TargetRules& rules, std::string_view place);

// Addresses to dial, in this order, or why there are none.
struct Judged {
    static constexpr std::size_t addresses_max = 3;

    std::vector<std::string> addresses;
    std::string reason;    // empty: it may be dialled
    bool is_ours = false;  // not the target's fault: it was not looked at
};
// Asks the name's server, and so may take seconds.
Judged judge(const Target& target, const TargetRules& rules);

// The host of a base address, as `Target::host` spells it; empty of one on this machine, whose
// other ports are no part of the service.
std::string own_host_of(std::string_view base_url);

}  // namespace berth::delivery
