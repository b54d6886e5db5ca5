#include "http/dial.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "http/client.hpp"

namespace berth::http {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void fail_to_dial(int error) { throw TransportError(std::strerror(error)); }

}  // namespace

// An IPv4 address is dialled as itself: a host without IPv6 has no socket for its mapped form.
DialledConnection::DialledConnection(const Address& address, std::uint16_t port, Duration total_max)
    : deadline_(steady_clock::now() + total_max) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::copy(address.bytes.begin(), address.bytes.end(), six.sin6_addr.s6_addr);
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.bytes.data() + 12, 4);
    const bool is_four = IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) != 0;
    socket_ = Descriptor(
        ::socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket_.number() < 0) fail_to_dial(errno);
    const sockaddr* const place = is_four ? reinterpret_cast<const sockaddr*>(&four)
                                          : reinterpret_cast<const sockaddr*>(&six);
    if (::connect(socket_.number(), place, is_four ? sizeof four : sizeof six) == 0) return;
    if (errno != EINPROGRESS) fail_to_dial(errno);
    wait_for(POLLOUT);
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) fail_to_dial(error);
}

void DialledConnection::wait_for(short events) const {
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - steady_clock::now());
        if (left.count() <= 0) throw TransportError("no time is left");
        pollfd wanted{socket_.number(), events, 0};
        const int ready = ::poll(&wanted, 1, static_cast<int>(left.count()));
        if (ready > 0) return;
        if (ready < 0 && errno != EINTR) fail_to_dial(errno);
    }
}

void DialledConnection::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            wait_for(POLLOUT);
        } else if (errno != EINTR) {
            fail_to_dial(errno);
        }
    }
}

std::string DialledConnection::receive(std::size_t bytes) {
    std::string all(bytes, '\0');
    for (std::size_t have = 0; have < bytes;) {
        wait_for(POLLIN);
        const ssize_t got = ::recv(socket_.number(), all.data() + have, bytes - have, 0);
        if (got == 0) throw TransportError("the other side closed the connection");
        if (got > 0)
            have += static_cast<std::size_t>(got);
        else if (errno != EAGAIN && errno != EINTR)
            fail_to_dial(errno);
    }
    return all;
}

}  // namespace berth::http
