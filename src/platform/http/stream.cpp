#include "http/stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace berth::http {
namespace {

Transfer outcome(ssize_t result, Transfer::Status when_blocked) {
    if (result >= 0) return {Transfer::Status::done, static_cast<std::size_t>(result)};
    const bool blocked = errno == EAGAIN || errno == EINTR;
    return {blocked ? when_blocked : Transfer::Status::closed};
}

iovec piece(std::string_view bytes) {
    // iovec is the same for reading and writing, hence not const; sendmsg only reads.
    return {const_cast<char*>(bytes.data()), bytes.size()};
}

}  // namespace

Stream::Stream(int socket, const TlsContext* tls)
    : socket_(socket),
      tls_(tls == nullptr ? nullptr : std::make_unique<TlsSession>(*tls, socket)) {}

Stream::Stream(int socket, const TlsContext& tls, TlsPeer peer)
    : socket_(socket), tls_(std::make_unique<TlsSession>(tls, socket, std::move(peer))) {}

Transfer Stream::shake_hands() {
    return tls_ ? tls_->shake_hands() : Transfer{Transfer::Status::done};
}

Transfer Stream::read(std::span<char> into) {
    if (tls_) return tls_->read(into);
    const ssize_t result = ::recv(socket_, into.data(), into.size(), 0);
    if (result == 0) return {Transfer::Status::finished};
    return outcome(result, Transfer::Status::wants_read);
}

Transfer Stream::write(std::string_view first, std::string_view second) {
    if (tls_) {
        // One record for both when they fit: a small copy is cheaper than a second record.
        std::array<char, TlsSession::record_bytes_max> record;
        if (second.empty() || first.size() >= record.size()) return tls_->write(first);
        if (first.empty()) return tls_->write(second);
        const std::size_t count = std::min(second.size(), record.size() - first.size());
        std::memcpy(record.data(), first.data(), first.size());
        std::memcpy(record.data() + first.size(), second.data(), count);
        return tls_->write({record.data(), first.size() + count});
    }
    std::array<iovec, 2> pieces{piece(first), piece(second)};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = second.empty() ? 1 : 2;
    return outcome(::sendmsg(socket_, &message, MSG_NOSIGNAL), Transfer::Status::wants_write);
}

Transfer Stream::finish_sending() {
    const Transfer told = tls_ ? tls_->finish_sending() : Transfer{Transfer::Status::done};
    if (told.status == Transfer::Status::wants_write) return told;
    ::shutdown(socket_, SHUT_WR);
    return {Transfer::Status::done};
}

void Stream::bound_unsent(int bytes) {
    if (std::exchange(unsent_bytes_max_, bytes) == bytes) return;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

// The system looks for itself after two thirds of it, and gives up what it sent after all of it.
void Stream::bound_unacknowledged(Duration span) {
    using std::chrono::milliseconds;
    const auto set = [this](int level, int name, int value) {
        ::setsockopt(socket_, level, name, &value, sizeof value);
    };
    const int third = static_cast<int>(span / std::chrono::seconds(3));
    set(IPPROTO_TCP, TCP_USER_TIMEOUT,
        static_cast<int>(std::chrono::duration_cast<milliseconds>(span).count()));
    set(SOL_SOCKET, SO_KEEPALIVE, third > 0 ? 1 : 0);
    if (third == 0) return;
    set(IPPROTO_TCP, TCP_KEEPIDLE, 2 * third);
    set(IPPROTO_TCP, TCP_KEEPINTVL, third);
    set(IPPROTO_TCP, TCP_KEEPCNT, 1);
}

void Stream::reset_on_close() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace berth::http
