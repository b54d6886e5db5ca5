// From a name that someone else chose to addresses that may be dialled. A server that dials for
// strangers must not reach its own house: whoever names an endpoint could otherwise talk to what
// stands behind our firewall. The address that was judged is the one to dial; asking the name
// again might give another.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "http/address.hpp"

namespace berth::http {

// False for addresses that are private, loopback, link-local, carrier NAT, multicast, reserved,
// unspecified, or IPv6 forms that carry another address inside (NAT64, 6to4, Teredo). An
// IPv4-mapped address is judged as the IPv4 address in it.
bool is_public(const Address& address);

enum class Reach { public_only, anywhere };

struct Resolved {
    std::vector<Address> addresses{};  // those that may be dialled, in the system's order
    std::string reason{};              // why there are none
    bool is_ours = false;              // it was not asked for, since we had no room: try again
};

// Looks names up within a time and a few at once. Whoever owns a name owns the server that answers
// for it, and can keep the system asking for as long as the system likes; who asks here goes on
// without it.
class Resolver {
public:
    using LookUp = std::function<Resolved(const std::string& host, Reach reach)>;
    struct Limits {
        Duration within = std::chrono::seconds(5);
        std::size_t at_once = 64;  // those included that nobody waits for any more
    };

    Resolver(LookUp look_up, const Limits& limits);

    // An address is no name, and is judged at once. Otherwise it blocks: never on an I/O thread.
    Resolved resolve(const std::string& host, Reach reach) const;

private:
    struct Shared;
    const std::shared_ptr<Shared> shared_;  // with look-ups that outlast this
};

// By the one resolver of the process, which asks the system.
Resolved resolve(const std::string& host, Reach reach);

// Where this service itself answers. Whoever names one of these as his own would have us talk to
// ourselves, and be taken at our word.
class OwnListeners {
public:
    void add(const std::string& address, std::uint16_t port);  // as it is listened on
    bool contains(const Address& address, std::int64_t port) const;

private:
    struct Listener {
        std::optional<Address> address;  // none: every one of this machine
        std::uint16_t port;
    };
    mutable std::mutex mutex_;
    std::vector<Listener> doors_;
};

}  // namespace berth::http
