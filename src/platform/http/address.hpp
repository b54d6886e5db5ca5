// IP addresses, blocks of them, and the address a request really came from when proxies that we
// trust stand in front.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"

struct sockaddr;

namespace berth::http {

// An IPv4 address is kept as its IPv4-mapped IPv6 form, so that there is one kind to compare.
struct Address {
    std::array<unsigned char, 16> bytes{};

    friend auto operator<=>(const Address&, const Address&) = default;
};

std::optional<Address> parse_address(std::string_view text);
Address address_of(const sockaddr& peer);
std::string to_string(const Address& address);  // mapped addresses as plain IPv4

// Who an address stands for, as bytes: an IPv4 address itself, an IPv6 address its /64, since one
// subscriber has all of that.
std::string subscriber(const Address& address);

// "10.0.0.0/8", "fd00::/8", or one address.
class AddressBlock {
public:
    static std::optional<AddressBlock> parse(std::string_view text);
    bool contains(const Address& address) const;

private:
    Address first_;
    unsigned prefix_bits_ = 128;
};

using AddressBlocks = std::vector<AddressBlock>;

bool contains(const AddressBlocks& blocks, const Address& address);

// The right-most address in X-Forwarded-For that is not trusted itself, if `peer` is trusted; with
// all of them trusted, the left-most. Anything there that is no address makes it `peer`.
Address client_address(const Address& peer, const Headers& headers, const AddressBlocks& trusted);

}  // namespace berth::http
