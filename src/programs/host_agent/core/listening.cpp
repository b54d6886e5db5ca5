#include "host_agent/core/listening.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/letters.hpp"

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

std::optional<HostAddress> parse_literal(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
    auto address = address_of(found->ai_addr);
    ::freeaddrinfo(found);
    return address;
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

bool is_localhost(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), to_lower);
    if (name.ends_with('.')) name.pop_back();
    return name == "localhost" || name.ends_with(".localhost");
}

}  // namespace

std::string listen_address(const std::string& public_host) {
    std::string host = public_host;
    if (host.size() > 2 && host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (is_localhost(host)) return "127.0.0.1";
    const std::set<std::string> own = own_addresses();
    if (const auto literal = parse_literal(host)) {
        if (literal->is_loopback || own.contains(literal->text)) return literal->text;
        return literal->is_ipv6 ? every_address : every_ipv4;
    }
    const bool has_ipv6 = std::ranges::any_of(
        own, [](const std::string& address) { return address.find(':') != std::string::npos; });
    return has_ipv6 ? every_address : every_ipv4;
}

}  // namespace berth::host_agent
