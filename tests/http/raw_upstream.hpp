// A server on a free port that does to each connection what the test's script says: for answers
// that no proper server would give.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "http/upstream.hpp"
#include "support/raw_socket.hpp"

namespace berth::http {

class RawUpstream {
public:
    // Runs on a thread of its own for each connection, which ends with it. What it throws ends it:
    // the test sees the consequence.
    using Script = std::function<void(support::RawSocket&)>;

    explicit RawUpstream(Script script) : script_(std::move(script)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        // So that somebody else can listen there right after it.
        const int on = 1;
        ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(listener_, 128) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("the upstream cannot listen");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { accept_all(); });
    }
    ~RawUpstream() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        for (std::thread& each : conversations_) each.join();
        ::close(listener_);
    }
    RawUpstream(const RawUpstream&) = delete;
    RawUpstream& operator=(const RawUpstream&) = delete;

    std::uint16_t port() const { return port_; }
    int accepted() const { return accepted_; }
    Endpoint endpoint() const {
        return {.address = *parse_address("127.0.0.1"), .port = port_, .host = "127.0.0.1"};
    }

private:
    void accept_all() {
        for (int socket = 0;
             (socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
            ++accepted_;
            conversations_.emplace_back([this, socket] {
                support::RawSocket connection = support::RawSocket::adopt(socket);
                try {
                    script_(connection);
                } catch (const std::exception&) {
                }
            });
        }
    }

    const Script script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> accepted_{0};
    std::vector<std::thread> conversations_;  // of the accepting thread
    std::thread thread_;
};

}  // namespace berth::http
