#include "support/raw_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace berth::support {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::runtime_error(std::string("raw socket: ") + what + ": " + std::strerror(errno));
}

bool wait_for(int socket, short events, std::chrono::milliseconds span) {
    pollfd entry{socket, events, 0};
    const int count = ::poll(&entry, 1, static_cast<int>(span.count()));
    if (count < 0) fail("poll");
    return count > 0;
}

std::string_view trim(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    return text;
}

}  // namespace

RawSocket::RawSocket(std::uint16_t port, Options options)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (socket_ < 0) fail("socket");
    if (options.receive_bytes > 0)
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &options.receive_bytes, sizeof(int));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr generic{};
    std::memcpy(&generic, &address, sizeof generic);
    if (::connect(socket_, &generic, sizeof address) != 0) {
        ::close(socket_);
        fail("connect");
    }
}

RawSocket::~RawSocket() {
    if (socket_ >= 0) ::close(socket_);
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

void RawSocket::send(std::string_view bytes) {
    if (!try_send(bytes)) fail("send");
}

bool RawSocket::try_send(std::string_view bytes) {
    while (!bytes.empty()) {
        if (!wait_for(socket_, POLLOUT, socket_wait_max))
            throw std::runtime_error("send: too slow");
        const ssize_t sent =
            ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void RawSocket::finish_sending() { ::shutdown(socket_, SHUT_WR); }

http::Response RawSocket::receive(bool no_body) {
    std::size_t head_end = 0;
    while ((head_end = buffer_.find("\r\n\r\n")) == std::string::npos)
        if (!fill()) throw std::runtime_error("the connection ended before a response: " + buffer_);
    std::string_view head = std::string_view(buffer_).substr(0, head_end + 2);
    http::Response response;
    response.content_type.clear();
    if (!head.starts_with("HTTP/1.1 ")) throw std::runtime_error("no response: " + buffer_);
    response.status = std::stoi(std::string(head.substr(9, 3)));
    head.remove_prefix(head.find('\n') + 1);
    while (!head.empty()) {
        const std::string_view line = head.substr(0, head.find('\r'));
        const std::size_t colon = line.find(':');
        const std::string_view value = trim(line.substr(colon + 1));
        response.headers.add(std::string(line.substr(0, colon)), std::string(value));
        head.remove_prefix(line.size() + 2);
    }
    response.content_type = response.headers.find("content-type").value_or("");
    const std::string length(response.headers.find("content-length").value_or("0"));
    const std::size_t body_bytes = no_body ? 0 : std::stoul(length);
    buffer_.erase(0, head_end + 4);
    while (buffer_.size() < body_bytes)
        if (!fill()) throw std::runtime_error("the connection ended within a body");
    response.body = buffer_.substr(0, body_bytes);
    buffer_.erase(0, body_bytes);
    return response;
}

std::string RawSocket::receive_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = buffer_.find(mark)) == std::string::npos)
        if (!fill()) throw std::runtime_error("the connection ended before the mark: " + buffer_);
    std::string text = buffer_.substr(0, at + mark.size());
    buffer_.erase(0, text.size());
    return text;
}

std::string RawSocket::receive_all() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
}

std::size_t RawSocket::take_some() {
    if (buffer_.empty()) fill();
    return std::exchange(buffer_, {}).size();
}

void RawSocket::await_end() {
    while (skip_some()) {
    }
}

bool RawSocket::readable_within(std::chrono::milliseconds span) const {
    return !buffer_.empty() || wait_for(socket_, POLLIN, span);
}

bool RawSocket::is_quiet() const { return !readable_within(std::chrono::milliseconds(0)); }

bool RawSocket::fill() {
    if (!wait_for(socket_, POLLIN, socket_wait_max)) throw std::runtime_error("receive: too slow");
    std::array<char, 65536> piece;
    const ssize_t count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count < 0 && errno != ECONNRESET) fail("recv");
    if (count <= 0) return false;
    buffer_.append(piece.data(), static_cast<std::size_t>(count));
    return true;
}

}  // namespace berth::support
