#include "http/resolve.hpp"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

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

namespace {

Resolved judged(const std::vector<Address>& addresses, Reach reach) {
    Resolved resolved;
    for (const Address& address : addresses) {
        const auto& known = resolved.addresses;
        if (std::find(known.begin(), known.end(), address) != known.end()) continue;
        if (reach == Reach::anywhere || is_public(address)) resolved.addresses.push_back(address);
    }
    if (resolved.addresses.empty()) resolved.reason = "the name leads to no public address";
    return resolved;
}

// A name server that is silent is asked twice, for two seconds: a thread that nobody waits for any
// more is not to be kept for the system's half a minute.
void ask_briefly() {
    if (::res_init() != 0) return;
    _res.retrans = 2;
    _res.retry = 2;
}

Resolved ask_the_system(const std::string& host, Reach reach) {
    ask_briefly();
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first);
    if (failed != 0) return {.reason = ::gai_strerror(failed)};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(first, &::freeaddrinfo);
    std::vector<Address> addresses;
    for (const addrinfo* each = first; each != nullptr; each = each->ai_next)
        addresses.push_back(address_of(*each->ai_addr));
    return judged(addresses, reach);
}

}  // namespace

struct Resolver::Shared {
    const LookUp look_up;
    const Limits limits;
    std::atomic<std::size_t> running{0};

    // One of those that may run at once; given back when the look-up is over, whoever waits.
    struct Slot {
        explicit Slot(std::shared_ptr<Shared> shared_) : shared(std::move(shared_)) {
            taken = shared->running.fetch_add(1) < shared->limits.at_once;
        }
        ~Slot() { --shared->running; }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

        const std::shared_ptr<Shared> shared;
        bool taken = false;
    };
};

Resolver::Resolver(LookUp look_up, const Limits& limits)
    : shared_(new Shared{std::move(look_up), limits}) {}

Resolved Resolver::resolve(const std::string& host, Reach reach) const {
    if (const auto address = parse_address(host)) return judged({*address}, reach);
    auto slot = std::make_shared<Shared::Slot>(shared_);
    if (!slot->taken) return {.reason = "too many names are being looked up", .is_ours = true};
    const auto found = std::make_shared<std::promise<Resolved>>();
    std::future<Resolved> answer = found->get_future();
    try {
        std::thread([slot, found, host, reach] {
            Resolved resolved;
            try {
                resolved = slot->shared->look_up(host, reach);
            } catch (const std::exception& error) {
                resolved = {.reason = error.what()};
            }
            found->set_value(std::move(resolved));
        }).detach();
    } catch (const std::system_error&) {
        return {.reason = "the name cannot be looked up just now", .is_ours = true};
    }
    if (answer.wait_for(shared_->limits.within) != std::future_status::ready)
        return {.reason = "looking the name up takes too long"};
    return answer.get();
}

Resolved resolve(const std::string& host, Reach reach) {
    static const Resolver resolver(ask_the_system, {});
    return resolver.resolve(host, reach);
}

namespace {

bool is_any(const Address& address) {
    return address == *parse_address("0.0.0.0") || address == *parse_address("::");
}

// Whether a connection to the address ends in this machine.
bool is_local(const Address& address) {
    static const AddressBlock loopback = *AddressBlock::parse("127.0.0.0/8");
    if (loopback.contains(address) || address == *parse_address("::1") || is_any(address))
        return true;
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return false;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr) continue;
        const int family = each->ifa_addr->sa_family;
        const bool is_ip = family == AF_INET || family == AF_INET6;
        if (is_ip && address_of(*each->ifa_addr) == address) return true;
    }
    return false;
}

}  // namespace

void OwnListeners::add(const std::string& address, std::uint16_t port) {
    auto parsed = parse_address(address);
    if (parsed && is_any(*parsed)) parsed.reset();
    const std::lock_guard lock(mutex_);
    doors_.push_back({parsed, port});
}

bool OwnListeners::contains(const Address& address, std::int64_t port) const {
    std::vector<Listener> listeners;
    {
        const std::lock_guard lock(mutex_);
        listeners = doors_;
    }
    return std::any_of(listeners.begin(), listeners.end(), [&](const Listener& listener) {
        if (listener.port != port) return false;
        return listener.address ? *listener.address == address || is_any(address)
                                : is_local(address);
    });
}

}  // namespace berth::http
