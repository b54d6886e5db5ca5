#include "host_agent/core/listening.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <set>
#include <vector>

namespace berth::host_agent {
namespace {

constexpr const char* every_ipv4 = "0.0.0.0";
constexpr const char* every_address = "::";  // and IPv4 as well

struct HostAddress {
    std::string text;
    bool is_ipv6 = false;
    bool is_loopback = false;
};

std::optional<HostAddress> address_of(const sockaddr* given) {
    if (given == nullptr) return std::nullopt;
    std::string text(INET6_ADDRSTRLEN, '\0');
    const auto size = static_cast<socklen_t>(text.size());
    if (given->sa_family == AF_INET) {
        const in_addr& raw = reinterpret_cast<const sockaddr_in*>(given)->sin_addr;
        if (::inet_ntop(AF_INET, &raw, text.data(), size) == nullptr) return std::nullopt;
        return HostAddress{text.c_str(), false, ntohl(raw.s_addr) >> 24 == IN_LOOPBACKNET};
    }
    if (given->sa_family != AF_INET6) return std::nullopt;
    const in6_addr& raw = reinterpret_cast<const sockaddr_in6*>(given)->sin6_addr;
    if (::inet_ntop(AF_INET6, &raw, text.data(), size) == nullptr) return std::nullopt;
    return HostAddress{text.c_str(), true, IN6_IS_ADDR_LOOPBACK(&raw) != 0};
}

// Written as an address, or everything that a name stands for.
std::vector<HostAddress> look_up(const std::string& host, bool is_literal) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = is_literal ? AI_NUMERICHOST : 0;
    addrinfo* found = nullptr;
    std::vector<HostAddress> all;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return all;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next)
        if (auto address = address_of(each->ai_addr)) all.push_back(std::move(*address));
    ::freeaddrinfo(found);
    return all;
}

std::set<std::string> own_addresses() {
    std::set<std::string> all;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return all;
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
        if (const auto address = address_of(each->ifa_addr)) all.insert(address->text);
    ::freeifaddrs(list);
    return all;
}

}  // namespace

std::string listen_address(const std::string& public_host) {
    std::string host = public_host;
    if (host.size() > 2 && host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (const auto literal = look_up(host, true); !literal.empty()) {
        const HostAddress& address = literal.front();
        if (address.is_loopback || own_addresses().contains(address.text)) return address.text;
        return address.is_ipv6 ? every_address : every_ipv4;
    }
    const std::vector<HostAddress> named = look_up(host, false);
    bool has_ipv6 = false;
    bool is_loopback = !named.empty();
    for (const HostAddress& address : named) {
        has_ipv6 = has_ipv6 || address.is_ipv6;
        is_loopback = is_loopback && address.is_loopback;
    }
    if (is_loopback) return "127.0.0.1";
    return has_ipv6 ? every_address : every_ipv4;
}

}  // namespace berth::host_agent
