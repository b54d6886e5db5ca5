// Streams of small events from an engine, read through whatever stands in between. Each event
// carries the moment at which the engine sent it; what counts is how many microseconds later it
// arrives than without anything in between.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <thread>

#include "bench/measure.hpp"
#include "bench/nginx.hpp"

namespace berth::bench {

inline constexpr int streams = 500;
inline constexpr int events_each = 200;
// Between two events of one stream; the streams are spread over that time.
inline constexpr int every_ms = 40;
inline constexpr std::size_t stamp_digits = 19;
inline constexpr std::string_view mark = "data: ";

inline std::int64_t now_nanos() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

inline sockaddr_in local(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

inline int new_socket() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

inline void send_all(int socket, std::string_view bytes) {
    if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;  // seen by the reader
}

// The engine behind both: a process of its own that answers every request with a stream.
class Engine {
public:
    Engine() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
        sockaddr_in address = local(0);
        socklen_t size = sizeof address;
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(listener_, 1024) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("the engine cannot listen");
        port_ = ntohs(address.sin_port);
        process_ = ::fork();
        if (process_ == 0) serve();
        ::close(listener_);
    }
    ~Engine() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    std::uint16_t port() const { return port_; }

private:
    struct Stream {
        int socket;
        int events = 0;
    };

    [[noreturn]] void serve() {
        std::array<std::vector<Stream>, every_ms>
            slots;  // those that speak in the same millisecond
        std::size_t next_slot = 0;
        auto next_tick = std::chrono::steady_clock::now();
        for (std::size_t tick = 0;; ++tick) {
            next_tick += std::chrono::milliseconds(1);
            std::this_thread::sleep_until(next_tick);
            for (int socket = 0; (socket = accept_one()) >= 0; ++next_slot)
                slots[next_slot % every_ms].push_back({socket});
            std::vector<Stream>& due = slots[tick % every_ms];
            for (Stream& stream : due) speak(stream);
            std::erase_if(due, [](const Stream& stream) { return stream.events > events_each; });
        }
    }

    int accept_one() {
        const int socket = ::accept4(listener_, nullptr, nullptr, 0);
        if (socket < 0) return -1;
        const int on = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        std::array<char, 4096> request;  // comes right behind the connection
        const ssize_t size = ::recv(socket, request.data(), request.size(), 0);
        if (size <= 0) return -1;
        if (std::string_view(request.data(), static_cast<std::size_t>(size))
                .starts_with("GET /v1/models ")) {  // how a rental sees that its engine is there
            send_all(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
            ::close(socket);
            return -1;
        }
        send_all(socket,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
        return socket;
    }

    static void speak(Stream& stream) {
        if (stream.events++ == events_each) {
            send_all(stream.socket, "0\r\n\r\n");
            ::close(stream.socket);
            return;
        }
        const std::string event = fmt::format("{}{:019}\n\n", mark, now_nanos());
        send_all(stream.socket, fmt::format("{:x}\r\n{}\r\n", event.size(), event));
    }

    int listener_;
    std::uint16_t port_ = 0;
    pid_t process_ = -1;
};

inline void await_server(std::uint16_t port) {
    constexpr int tries_max = 200;
    const sockaddr_in address = local(port);
    for (int i = 0; i < tries_max; ++i) {
        const int socket = new_socket();
        const int failed =
            ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        ::close(socket);
        if (failed == 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("a server does not listen");
}

struct Reading {
    std::string kept;  // an unfinished event
    int events = 0;
};

// What came on one stream: the delays of its events, in microseconds, are added.
inline void take(Reading& reading, std::string_view bytes, std::vector<double>& delays) {
    reading.kept += bytes;
    const std::int64_t now = now_nanos();
    for (std::size_t at = 0; (at = reading.kept.find(mark)) != std::string::npos;) {
        if (reading.kept.size() < at + mark.size() + stamp_digits) return;
        const std::string stamp = reading.kept.substr(at + mark.size(), stamp_digits);
        delays.push_back(static_cast<double>(now - std::atoll(stamp.c_str())) / 1000);
        reading.kept.erase(0, at + mark.size() + stamp_digits);
        ++reading.events;
    }
}

struct Delays {
    double p50 = 0;
    double p99 = 0;
};

inline Delays percentiles(std::vector<double> delays) {
    std::sort(delays.begin(), delays.end());
    return {delays.at(delays.size() / 2), delays.at(delays.size() * 99 / 100)};
}

// Asks for the streams of one round, reads them all, and gives the delays of their events.
// `in_the_middle` is called once, while all of them are open.
inline Delays delay_of(std::uint16_t port, const std::string& request,
                       const std::function<void()>& in_the_middle = {}) {
    const int poll = ::epoll_create1(0);
    std::map<int, Reading> open;
    for (int i = 0; i < streams; ++i) {
        const int socket = new_socket();
        const sockaddr_in address = local(port);
        if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect");
        send_all(socket, request);
        epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
        ::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
        open[socket];
    }
    bool called = !in_the_middle;
    std::vector<double> delays;
    std::array<char, 65536> bytes;
    std::array<epoll_event, 256> ready;
    while (delays.size() < std::size_t{streams} * events_each) {
        if (!called && delays.size() > std::size_t{streams} * events_each / 2) {
            in_the_middle();
            called = true;
        }
        const int count = ::epoll_wait(poll, ready.data(), ready.size(), 10'000);
        if (count <= 0) throw std::runtime_error("the streams stopped");
        for (int i = 0; i < count; ++i) {
            const int socket = ready[static_cast<std::size_t>(i)].data.fd;
            const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), 0);
            if (size > 0) {
                take(open[socket], {bytes.data(), static_cast<std::size_t>(size)}, delays);
                continue;
            }
            if (open[socket].events != events_each)
                throw std::runtime_error("a stream ended too early");
            open.erase(socket);
            ::close(socket);
        }
    }
    for (const auto& [socket, reading] : open) ::close(socket);
    ::close(poll);
    return percentiles(std::move(delays));
}

// Where it is allowed, everything here runs before all other programs: what is measured are
// microseconds, and a turn of someone else's takes milliseconds.
inline void go_first() {
    const sched_param priority{.sched_priority = 1};
    ::sched_setscheduler(0, SCHED_FIFO, &priority);
}

}  // namespace berth::bench
