// MiB a second through a pair of joined sockets, as a gate joins them: one stream, and 200 at the
// same time, against HAProxy with one thread and splicing. Source, pump, HAProxy and sink are
// processes of their own. The source sends pages it never copies and the sink drops what it gets
// unread, so that most of the time is what stands between.
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "base/descriptor.hpp"
#include "bench/haproxy.hpp"
#include "http/call_out.hpp"
#include "http/loop_thread.hpp"
#include "http/ports.hpp"
#include "http/pump.hpp"

namespace {

using namespace berth;
using SteadyClock = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr std::chrono::milliseconds warm_up{300};
constexpr std::chrono::milliseconds length{1500};
constexpr std::size_t piece_bytes = 1024 * 1024;
constexpr double mib = 1024.0 * 1024.0;

sockaddr_in at_port(std::uint16_t port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
}

// On a free port; tells which.
Descriptor listen_anywhere(std::uint16_t& port) {
    Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in place = at_port(0);
    socklen_t size = sizeof place;
    if (::bind(listener.number(), reinterpret_cast<sockaddr*>(&place), size) != 0 ||
        ::listen(listener.number(), 1024) != 0 ||
        ::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&place), &size) != 0)
        throw std::runtime_error("cannot listen");
    port = ntohs(place.sin_port);
    return listener;
}

// A process that runs `serve`, until this object ends.
class Child {
public:
    explicit Child(const std::function<void()>& serve) : process_(::fork()) {
        if (process_ != 0) return;
        ::signal(SIGPIPE, SIG_IGN);
        serve();
        ::_exit(0);
    }
    ~Child() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

private:
    pid_t process_;
};

void watch(int epoll, int socket, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = socket;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
}

// Whoever comes gets the same pages without end.
[[noreturn]] void send_for_ever(int listener) {
    const int file = ::memfd_create("bench", 0);
    if (::ftruncate(file, piece_bytes) != 0) ::_exit(1);
    const std::string bytes(piece_bytes, 'x');
    if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::_exit(1);
    const int epoll = ::epoll_create1(0);
    watch(epoll, listener, EPOLLIN);
    std::array<epoll_event, 64> ready;
    while (true) {
        const int count = ::epoll_wait(epoll, ready.data(), ready.size(), -1);
        for (int i = 0; i < count; ++i) {
            const int socket = ready[static_cast<std::size_t>(i)].data.fd;
            if (socket == listener) {
                watch(epoll, ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK), EPOLLOUT);
                continue;
            }
            off_t from = 0;
            if (::sendfile(socket, file, &from, piece_bytes) < 0 && errno != EAGAIN)
                ::close(socket);
        }
    }
}

// Joins whoever comes to `port` with the source.
[[noreturn]] void pump_for_ever(std::uint16_t port, std::uint16_t source) {
    const http::LoopThread thread;
    const std::shared_ptr<http::Loop> loop = thread.loop();
    std::unique_ptr<http::Ports> ports;
    const auto join_with_source = [loop, source](http::Visitor visitor) {
        auto stranger = std::make_shared<http::Carrier>(std::move(visitor.carrier));
        const http::Endpoint to{.address = *http::parse_address("127.0.0.1"), .port = source};
        http::call_out(loop, {.endpoint = to}, [loop, stranger](http::Called called) {
            http::join(loop, std::move(called.carrier), std::move(*stranger), {});
        });
    };
    loop->post([&] {
        ports = std::make_unique<http::Ports>(loop, "127.0.0.1", join_with_source);
        ports->open(port);
    });
    while (true) ::pause();
}

Descriptor connect_to(std::uint16_t port) {
    const sockaddr_in place = at_port(port);
    for (int tries = 0; tries < 1000; ++tries) {
        Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&place), sizeof place) ==
            0)
            return socket;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("nobody listens: is haproxy installed?");
}

// MiB a second that come over so many connections together; `look` is called while they are open.
double rate(
    std::uint16_t port, int streams, const std::function<void()>& look = [] {}) {
    const Descriptor epoll(::epoll_create1(0));
    std::vector<Descriptor> sockets;
    for (int i = 0; i < streams; ++i) {
        sockets.push_back(connect_to(port));
        watch(epoll.number(), sockets.back().number(), EPOLLIN);
    }
    std::array<epoll_event, 64> ready;
    std::uint64_t bytes = 0;
    const auto drop_until = [&](SteadyClock::time_point end) {
        bytes = 0;
        while (SteadyClock::now() < end) {
            const int count = ::epoll_wait(epoll.number(), ready.data(), ready.size(), 10);
            for (int i = 0; i < count; ++i) {
                const ssize_t got = ::recv(ready[static_cast<std::size_t>(i)].data.fd, nullptr,
                                           piece_bytes, MSG_TRUNC | MSG_DONTWAIT);
                if (got == 0) throw std::runtime_error("a stream ended");
                if (got > 0) bytes += static_cast<std::uint64_t>(got);
            }
        }
    };
    drop_until(SteadyClock::now() + warm_up);
    const SteadyClock::time_point begin = SteadyClock::now();
    drop_until(begin + length);
    const std::chrono::duration<double> span = SteadyClock::now() - begin;
    look();
    return static_cast<double>(bytes) / mib / span.count();
}

}  // namespace

int main() {
    return bench::run("gate_stream", [] {
        std::uint16_t source = 0;
        std::uint16_t ours_port = 0;
        std::uint16_t theirs_port = 0;
        Descriptor listener = listen_anywhere(source);
        listen_anywhere(ours_port).close();  // free again at once
        listen_anywhere(theirs_port).close();
        const Child sender([&] { send_for_ever(listener.number()); });
        listener.close();
        const Child pump([&] { pump_for_ever(ours_port, source); });
        const bench::Haproxy haproxy(theirs_port, source);
        for (const int streams : {1, 200}) {
            std::vector<double> ours;
            std::vector<double> theirs;
            for (int round = 0; round < rounds; ++round) {
                ours.push_back(rate(ours_port, streams));
                theirs.push_back(rate(theirs_port, streams, [&] {
                    if (!haproxy.has_spliced()) throw std::runtime_error("haproxy did not splice");
                }));
            }
            bench::print(streams == 1 ? "gate_stream" : "gate_stream_200", ours, "haproxy", theirs);
        }
    });
}
