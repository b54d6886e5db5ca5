#include "http/resolve.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

namespace berth::http {
namespace {

// RFC 6890 and its successors: everything that is not a place on the public internet.
AddressBlocks make_unreachable() {
    AddressBlocks blocks;
    for (const char* text :
         {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
          "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
          "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"})
        blocks.push_back(*AddressBlock::parse(text));
    return blocks;
}

// Of IPv6 only what is given out to the public counts, less what carries another address.
AddressBlocks make_unreachable_of_global() {
    AddressBlocks blocks;
    for (const char* text : {"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"})
        blocks.push_back(*AddressBlock::parse(text));
    return blocks;
}

}  // namespace

bool is_public(const Address& address) {
    static const AddressBlock four = *AddressBlock::parse("::ffff:0:0/96");
    static const AddressBlock global = *AddressBlock::parse("2000::/3");
    static const AddressBlocks unreachable = make_unreachable();
    static const AddressBlocks unreachable_of_global = make_unreachable_of_global();
    if (four.contains(address)) return !contains(unreachable, address);
    return global.contains(address) && !contains(unreachable_of_global, address);
}

Resolved resolve(const std::string& host, Reach reach) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first);
    if (failed != 0) return {.reason = ::gai_strerror(failed)};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(first, &::freeaddrinfo);
    Resolved resolved;
    for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
        const Address address = address_of(*each->ai_addr);
        const bool known = std::find(resolved.addresses.begin(), resolved.addresses.end(),
                                     address) != resolved.addresses.end();
        if (!known && (reach == Reach::anywhere || is_public(address)))
            resolved.addresses.push_back(address);
    }
    if (resolved.addresses.empty()) resolved.reason = "the name leads to no public address";
    return resolved;
}

}  // namespace berth::http
