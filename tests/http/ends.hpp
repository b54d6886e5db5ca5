// Connected pairs of TCP sockets on loopback, and what strangers do with their end of one: for the
// tests of what joins connections.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "http/carrier.hpp"
#include "http/loop_thread.hpp"
#include "support/eventually.hpp"
#include "support/raw_socket.hpp"

namespace berth::http {

// A stranger's blocking socket. Every wait has a deadline.
class End {
public:
    explicit End(Descriptor socket) : socket_(std::move(socket)) {}

    int number() const { return socket_.number(); }
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) throw std::runtime_error("the other side does not take it");
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    // As much as fits without waiting.
    std::size_t send_some(std::string_view bytes) const {
        const ssize_t sent =
            ::send(number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
    void finish_sending() const { ::shutdown(number(), SHUT_WR); }
    void reset() {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        socket_.close();
    }

    // Up to so many bytes; fewer at the end.
    std::string receive(std::size_t bytes) const {
        std::string all(bytes, '\0');
        std::size_t have = 0;
        while (have < bytes) {
            const ssize_t got = read_some(all.data() + have, bytes - have);
            if (got <= 0) break;
            have += static_cast<std::size_t>(got);
        }
        all.resize(have);
        return all;
    }
    // What comes next must be an end, and what kind of.
    bool is_finished() const {
        char byte = 0;
        return read_some(&byte, 1) == 0;
    }
    bool is_reset() const {
        char piece[4096];
        ssize_t got = 0;
        while ((got = read_some(piece, sizeof piece)) > 0) {
        }
        return got < 0 && (errno == ECONNRESET || errno == EPIPE);
    }

private:
    ssize_t read_some(char* into, std::size_t bytes) const {
        pollfd wanted{number(), POLLIN, 0};
        const int wait_ms = static_cast<int>(support::socket_wait_max.count());
        if (::poll(&wanted, 1, wait_ms) != 1) throw std::runtime_error("nothing came in time");
        return ::recv(number(), into, bytes, 0);
    }

    Descriptor socket_;
};

struct Connected {
    Carrier inside;
    End outside;
};

// With small buffers, where a test wants to fill them.
inline Connected connect_ends(int buffer_bytes = 0) {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto shrink = [&](int socket) {
        if (buffer_bytes == 0) return;
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
        ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    };
    shrink(listener.number());
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    socklen_t size = sizeof place;
    EXPECT_EQ(::bind(listener.number(), address, size), 0);
    EXPECT_EQ(::listen(listener.number(), 8), 0);
    EXPECT_EQ(::getsockname(listener.number(), address, &size), 0);
    Descriptor outside(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    shrink(outside.number());
    EXPECT_EQ(::connect(outside.number(), address, size), 0);
    Descriptor inside(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_GE(inside.number(), 0);
    return {Carrier(std::move(inside)), End(std::move(outside))};
}

inline End dial_as_stranger(std::uint16_t port) {
    Descriptor outside(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(outside.number(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    return End(std::move(outside));
}

// Bytes of which each says where it stands.
class Pattern {
public:
    std::string next(std::size_t bytes) {
        std::string made(bytes, '\0');
        for (char& each : made) {
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            each = static_cast<char>(state_ >> 56);
        }
        return made;
    }

private:
    std::uint64_t state_ = 1;
};

// What a callback was given, once; a second time fails the test.
template <class Value>
class Once {
public:
    Once() : promise_(std::make_shared<std::promise<Value>>()), got_(promise_->get_future()) {}

    auto callback() {
        return [promise = promise_](Value value) { promise->set_value(std::move(value)); };
    }
    Value wait() {
        if (got_.wait_for(support::socket_wait_max) != std::future_status::ready)
            throw std::runtime_error("nobody called");
        return got_.get();
    }

private:
    std::shared_ptr<std::promise<Value>> promise_;
    std::future<Value> got_;
};

}  // namespace berth::http
