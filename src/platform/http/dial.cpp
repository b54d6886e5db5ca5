#include "http/dial.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "http/client.hpp"
#include "http/socket_address.hpp"

namespace berth::http {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void fail_to_dial(int error) { throw TransportError(std::strerror(error)); }

}  // namespace

DialledConnection::DialledConnection(const Address& address, std::uint16_t port, Duration total_max)
    : deadline_(steady_clock::now() + total_max) {
    const SocketAddress place(address, port);
    socket_ = Descriptor(::socket(place.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket_.number() < 0) fail_to_dial(errno);
    if (::connect(socket_.number(), place.data(), place.size()) == 0) return;
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
