#include "http/carrier.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "http/text.hpp"

namespace berth::http {
namespace {

// Well within the half minute after which the strictest routers forget a connection.
constexpr int stream_idle_s = 25;
constexpr int stream_probe_s = 10;
constexpr int stream_probes = 3;

}  // namespace

Carrier::Carrier(Descriptor socket)
    : socket_(std::move(socket)), stream_(socket_.number(), nullptr) {
    const int flags = ::fcntl(socket_.number(), F_GETFL);
    if (flags >= 0) ::fcntl(socket_.number(), F_SETFL, flags | O_NONBLOCK);
}

Carrier::Carrier(Descriptor socket, Stream stream, std::string ahead)
    : socket_(std::move(socket)), stream_(std::move(stream)), ahead_(std::move(ahead)) {}

Address Carrier::peer() const {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(socket(), reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
    return address_of(reinterpret_cast<const sockaddr&>(peer));
}

void Carrier::start_tls(const TlsContext& tls, TlsPeer peer) {
    stream_ = Stream(socket(), tls, std::move(peer));
}

Transfer Carrier::read(std::span<char> into) {
    if (ahead_.empty()) return stream_.read(into);
    const std::size_t count = std::min(into.size(), ahead_.size());
    std::memcpy(into.data(), ahead_.data(), count);
    if (count == ahead_.size())
        free_text(ahead_);
    else
        ahead_.erase(0, count);
    return {Transfer::Status::done, count};
}

void Carrier::put_back(std::string_view bytes) { ahead_.insert(0, bytes); }

void Carrier::set_up_as_stream() const {
    const auto set = [this](int level, int name, int value) {
        ::setsockopt(socket(), level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, stream_idle_s);
    set(IPPROTO_TCP, TCP_KEEPINTVL, stream_probe_s);
    set(IPPROTO_TCP, TCP_KEEPCNT, stream_probes);
}

void Carrier::close() { *this = Carrier(); }

}  // namespace berth::http
