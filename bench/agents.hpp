// Host agents for benchmarks: keys, heartbeats with telemetry that are signed beforehand, and a
// connection that sends requests as bytes. And what processor time is, of a process and a thread.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/signature.hpp"

namespace berth::bench {

inline const std::string manifest_hash = agent_protocol::sha256_hash("manifest");
inline constexpr const char* boot_id = "boot";

inline crypto::Ed25519Key key_of(std::size_t machine) {
    std::string seed(32, '\0');
    seed.replace(0, 8, fmt::format("{:08}", machine));
    return crypto::Ed25519Key{crypto::Secret(seed)};
}

inline double process_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
inline double thread_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The bytes of a whole request. It is good for a minute from `created` on, and for one before.
std::string heartbeat(const agent_protocol::RequestSigner& signer, std::uint16_t port, Time created,
                      Random& random);

class Connection {
public:
    explicit Connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
            throw std::runtime_error("cannot connect");
    }
    ~Connection() { ::close(socket_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // The beginning of the answer. Answers to agents are short and come in one piece.
    std::string ask(const std::string& request) {
        if (::write(socket_, request.data(), request.size()) < 0) return "";
        const ssize_t size = ::read(socket_, answer_.data(), answer_.size());
        return {answer_.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
    }

private:
    int socket_;
    std::array<char, 8192> answer_{};
};

}  // namespace berth::bench
