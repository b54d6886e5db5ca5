// 500 streams of 200 small events, relayed by the streaming handler and the upstream client on one
// I/O thread, against nginx with one worker and buffering off. Each event carries the moment at
// which the engine sent it; what counts is how many microseconds later the middle one arrives than
// without anything in between.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "base/log.hpp"
#include "bench/measure.hpp"
#include "bench/nginx.hpp"
#include "http/server.hpp"
#include "tests/http/relay.hpp"

namespace {

using namespace berth;

constexpr int streams = 500;
constexpr int events_each = 200;
constexpr int every_ms = 40;  // an event of one stream; the streams are spread over that time
constexpr int rounds = 3;
constexpr std::size_t stamp_digits = 19;
constexpr std::string_view mark = "data: ";

std::int64_t now_nanos() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

sockaddr_in local(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int new_socket() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

void send_all(int socket, std::string_view bytes) {
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
        if (::recv(socket, request.data(), request.size(), 0) <= 0) return -1;
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

void await_server(std::uint16_t port) {
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
void take(Reading& reading, std::string_view bytes, std::vector<double>& delays) {
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

// Reads the streams of one round and gives the middle delay of all events.
double delay_of(std::uint16_t port) {
    const int poll = ::epoll_create1(0);
    std::map<int, Reading> open;
    for (int i = 0; i < streams; ++i) {
        const int socket = new_socket();
        const sockaddr_in address = local(port);
        if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect");
        send_all(socket, "GET /stream HTTP/1.1\r\nHost: bench\r\n\r\n");
        epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
        ::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
        open[socket];
    }
    std::vector<double> delays;
    std::array<char, 65536> bytes;
    std::array<epoll_event, 256> ready;
    while (delays.size() < std::size_t{streams} * events_each) {
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
    return bench::median(delays);
}

class Relays final : public http::Handler {
public:
    explicit Relays(std::uint16_t port) : port_(port) {}
    void handle(http::Request request, http::Reply reply) override {
        reply(http::relayed({.endpoint = {.address = *http::parse_address("127.0.0.1"),
                                          .port = port_,
                                          .host = "127.0.0.1"},
                             .target = request.target}));
    }

private:
    std::uint16_t port_;
};

// Where it is allowed, everything here runs before all other programs: what is measured are
// microseconds, and a turn of someone else's takes milliseconds.
void go_first() {
    const sched_param priority{.sched_priority = 1};
    ::sched_setscheduler(0, SCHED_FIFO, &priority);
}

// Our server, in a process of its own as nginx is.
class Ours {
public:
    Ours(std::uint16_t port, std::uint16_t engine_port) : process_(::fork()) {
        if (process_ != 0) return;
        Relays relays(engine_port);
        http::Server server({.port = port}, relays);
        server.start();
        while (true) ::pause();
    }
    ~Ours() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;

private:
    pid_t process_;
};

}  // namespace

int main() {
    try {
        go_first();
        const Engine engine;
        Relays relays(engine.port());
        const std::uint16_t our_port = http::Server({}, relays).port();  // free again at once
        const std::uint16_t nginx_port = http::Server({}, relays).port();
        bench::Nginx nginx(fmt::format("listen 127.0.0.1:{} backlog=4096; location / {{ proxy_pass "
                                       "http://127.0.0.1:{}; proxy_http_version 1.1; "
                                       "proxy_buffering off; }}",
                                       nginx_port, engine.port()));
        nginx.start();
        const Ours server(our_port, engine.port());
        await_server(our_port);
        await_server(nginx_port);

        std::vector<double> direct;
        std::vector<double> ours;
        std::vector<double> theirs;
        for (int round = 0; round < rounds; ++round) {
            direct.push_back(delay_of(engine.port()));
            ours.push_back(delay_of(our_port));
            theirs.push_back(delay_of(nginx_port));
        }
        const double nothing = bench::median(direct);
        const double added = bench::median(ours) - nothing;
        const double baseline = bench::median(theirs) - nothing;
        fmt::print("BENCH stream ours={:.1f} baseline=nginx:{:.1f} ratio={:.2f}\n", added, baseline,
                   baseline / added);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stream: %s\n", error.what());
        return 1;
    }
}
