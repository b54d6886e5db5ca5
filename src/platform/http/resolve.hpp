// From a name that someone else chose to addresses that may be dialled. A server that dials for
// strangers must not reach its own house: whoever names an endpoint could otherwise talk to what
// stands behind our firewall. The address that was judged is the one to dial; asking the name
// again might give another.
#pragma once

#include <string>
#include <vector>

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
};

// Asks the system, which may take seconds: never on an I/O thread.
Resolved resolve(const std::string& host, Reach reach);

}  // namespace berth::http
