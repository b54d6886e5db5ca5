// A name server that knows no name, and says so at once. Containers are not started where none
// answers.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "gate_world/networks.hpp"

namespace berth::test {

class NameServer {
public:
    // At the address of the server, so that routers know its answers.
    explicit NameServer(const Network& network) {
        const Inside in(network);
        socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_port = htons(53);
        ::inet_pton(AF_INET, Networks::server_address, &place.sin_addr);
        if (::bind(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
            throw std::runtime_error("no port for a name server");
        thread_ = std::thread([this] { work(); });
    }
    ~NameServer() {
        stops_ = true;
        thread_.join();
        ::close(socket_);
    }
    NameServer(const NameServer&) = delete;
    NameServer& operator=(const NameServer&) = delete;

private:
    void work() {
        constexpr int look_ms = 100;
        while (!stops_) {
            pollfd looked{socket_, POLLIN, 0};
            if (::poll(&looked, 1, look_ms) != 1) continue;
            std::array<char, 4096> packet;
            sockaddr_in from{};
            socklen_t size = sizeof from;
            const ssize_t got = ::recvfrom(socket_, packet.data(), packet.size(), 0,
                                           reinterpret_cast<sockaddr*>(&from), &size);
            if (got < 12) continue;
            packet[2] = '\x85';  // an answer, with authority, and recursion was wished for
            packet[3] = '\x83';  // there is no such name
            ::sendto(socket_, packet.data(), static_cast<std::size_t>(got), 0,
                     reinterpret_cast<const sockaddr*>(&from), size);
        }
    }

    int socket_ = -1;
    std::atomic<bool> stops_ = false;
    std::thread thread_;
};

}  // namespace berth::test
