#include "host_agent/access/listener.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <stdexcept>

namespace berth::host_agent {
namespace {

constexpr int backlog = 1024;

}  // namespace

Descriptor listen_at(const std::string& address, std::int64_t port) {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
        throw std::runtime_error(address + " is not an address");
    Descriptor listener(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int off = 0;
    ::setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (found->ai_family == AF_INET6)
        ::setsockopt(listener.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const bool listens = ::bind(listener.number(), found->ai_addr, found->ai_addrlen) == 0 &&
                         ::listen(listener.number(), backlog) == 0;
    const int why = errno;
    ::freeaddrinfo(found);
    if (!listens)
        throw std::runtime_error(
            fmt::format("cannot listen on {} port {}: {}", address, port, ::strerror(why)));
    return listener;
}

}  // namespace berth::host_agent
