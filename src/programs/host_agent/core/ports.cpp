#include "host_agent/core/ports.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::host_agent {
namespace {

// The port that was bound; empty when it is taken.
std::optional<std::int64_t> try_port(std::int64_t port, in_addr_t where) {
    const int handle = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;  // what waits after a close is no listener
    ::setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(where);
    socklen_t size = sizeof address;
    const bool good = ::bind(handle, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                      ::getsockname(handle, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(handle);
    return good ? std::optional<std::int64_t>(ntohs(address.sin_port)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> find_port(std::int64_t first, std::int64_t last,
                                      const std::set<std::int64_t>& taken) {
    for (std::int64_t port = first; port <= last; ++port)
        if (!taken.contains(port) && try_port(port, INADDR_ANY)) return port;
    return std::nullopt;
}

std::optional<std::int64_t> find_local_port() { return try_port(0, INADDR_LOOPBACK); }

}  // namespace berth::host_agent
