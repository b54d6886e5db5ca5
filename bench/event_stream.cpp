// 5,000 streams of 250 accounts, each of which is told something every second: the processor that
// takes a server, telling included, against a bare process that writes as many bytes to as many
// sockets; how much of it is telling alone, which the bare one does not do; and how late events
// come.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench/event_streams.hpp"

namespace {

using namespace berth;

constexpr int streams = 5'000;
constexpr int accounts = streams / bench::streams_of_account;
constexpr std::chrono::seconds measured_for{20};
constexpr std::size_t frame_bytes = 330;

// Answers every request with the head of a stream, and writes to each once a second.
class BareWriter {
public:
    BareWriter() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof place;
        if (::bind(listener_, reinterpret_cast<const sockaddr*>(&place), size) != 0 ||
            ::listen(listener_, 4096) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size) != 0)
            throw std::runtime_error("cannot listen");
        port_ = ntohs(place.sin_port);
        process_ = ::fork();
        if (process_ == 0) serve();
        ::close(listener_);
    }
    ~BareWriter() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    BareWriter(const BareWriter&) = delete;
    BareWriter& operator=(const BareWriter&) = delete;

    std::uint16_t port() const { return port_; }
    pid_t process() const { return process_; }

private:
    [[noreturn]] void serve() {
        const int poll = ::epoll_create1(EPOLL_CLOEXEC);
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.fd = listener_;
        ::epoll_ctl(poll, EPOLL_CTL_ADD, listener_, &wanted);
        const std::string head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            "Transfer-Encoding: chunked\r\n\r\n";
        const std::string frame =
            fmt::format("{:x}\r\n{}\r\n", frame_bytes, std::string(frame_bytes, 'x'));
        std::vector<int> sockets;
        std::array<epoll_event, 256> ready{};
        std::array<char, 4096> bytes{};
        auto next = std::chrono::steady_clock::now();
        std::size_t at = 0;
        while (true) {
            const int count = ::epoll_wait(poll, ready.data(), static_cast<int>(ready.size()), 4);
            for (int i = 0; i < count; ++i) {
                const int socket = ready[static_cast<std::size_t>(i)].data.fd;
                if (socket != listener_) {
                    if (::recv(socket, bytes.data(), bytes.size(), 0) <= 0) continue;
                    static_cast<void>(::send(socket, head.data(), head.size(), MSG_NOSIGNAL));
                    sockets.push_back(socket);  // no frame comes before its head
                    continue;
                }
                const int fresh = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
                if (fresh < 0) continue;
                const int on = 1;
                ::setsockopt(fresh, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                wanted.data.fd = fresh;
                ::epoll_ctl(poll, EPOLL_CTL_ADD, fresh, &wanted);
            }
            // As many as are due by now, spread over the second.
            for (const auto now = std::chrono::steady_clock::now(); next < now;
                 next += std::chrono::nanoseconds(std::chrono::seconds(1)) / streams) {
                if (at < sockets.size())
                    static_cast<void>(
                        ::send(sockets[at], frame.data(), frame.size(), MSG_NOSIGNAL));
                at = (at + 1) % streams;
            }
        }
    }

    int listener_;
    std::uint16_t port_ = 0;
    pid_t process_ = 0;
};

double cpu_of(pid_t process, bench::Audience& audience, std::vector<double>& delays) {
    static_cast<void>(audience.read_for(std::chrono::seconds(3)));
    const double before = bench::cpu_seconds(process);
    delays = audience.read_for(measured_for);
    return (bench::cpu_seconds(process) - before) / static_cast<double>(measured_for.count());
}

void measure() {
    bench::allow_files(streams + 200);
    std::vector<double> delays;
    std::vector<double> nothing;
    double bare = 0;
    {
        const BareWriter writer;
        bench::Audience audience;
        for (int i = 0; i < streams; ++i) audience.open(writer.port(), "nobody");
        bare = cpu_of(writer.process(), audience, nothing);
    }
    const bench::EventServer server(accounts, true);
    bench::Audience audience;
    const double telling = cpu_of(server.process(), audience, nothing);  // nobody listens yet
    for (const auto& one : bench::stream_accounts(accounts))
        for (int i = 0; i < bench::streams_of_account; ++i)
            audience.open(server.port(), one.secret);
    const double ours = cpu_of(server.process(), audience, delays);
    fmt::print(
        "BENCH event_stream ours={:.3f} baseline=bare-epoll:{:.3f} ratio={:.2f} telling={:.3f} "
        "events={} p99={:.1f}ms\n",
        ours, bare, bare / ours, telling, delays.size(), bench::percentile(delays, 0.99));
}

}  // namespace

int main() { return berth::bench::run("event_stream", measure); }
