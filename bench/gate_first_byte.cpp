// How long a new SSH connection waits for its banner: through a gate, 40 ms of round trip away from
// the host, against the host itself at the same distance. A gate costs one round trip more, since
// the host calls back; the goal is within two and 5 ms.
//
// The distance is a forwarder that delays: a connection is there after one and a half round trips,
// as its first bytes would be, and what goes over it then takes half of one each way.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>

#include "bench/gate_machine.hpp"

namespace {

using namespace berth;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds round_trip{40};
constexpr double goal_more_ms = 2.0 * 40 + 5;
constexpr int rounds = 11;
constexpr std::string_view banner = "SSH-2.0-bench\r\n";

int listen_anywhere(std::uint16_t& port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&own), size) != 0 ||
        ::listen(socket, 64) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0)
        throw std::runtime_error("cannot listen");
    port = ntohs(own.sin_port);
    return socket;
}

// Serves each connection on a thread of its own, for as long as the program runs.
class Listener {
public:
    explicit Listener(std::function<void(int)> serve) : socket_(listen_anywhere(port)) {
        std::thread([socket = socket_, serve = std::move(serve)] {
            while (true) {
                const int peer = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
                if (peer < 0) return;
                std::thread([peer, serve] { serve(peer); }).detach();
            }
        }).detach();
    }
    std::uint16_t port = 0;

private:
    int socket_;
};

void pass_delayed(int from, int to) {
    std::array<char, 16 * 1024> piece;
    for (ssize_t count = 0; (count = ::recv(from, piece.data(), piece.size(), 0)) > 0;) {
        std::this_thread::sleep_for(round_trip / 2);
        if (::send(to, piece.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) != count) break;
    }
    ::shutdown(to, SHUT_WR);
}

// The first bytes that came meanwhile go with the connection.
void forward(int near, std::uint16_t port) {
    std::this_thread::sleep_for(round_trip * 3 / 2);
    const int far = bench::connect_from("127.0.0.1", port);
    std::array<char, 16 * 1024> early;
    const ssize_t count = ::recv(near, early.data(), early.size(), MSG_DONTWAIT);
    if (count > 0) (void)!::send(far, early.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
    std::thread back([near, far] { pass_delayed(far, near); });
    pass_delayed(near, far);
    back.join();
    ::close(near);
    ::close(far);
}

double banner_ms(std::uint16_t port) {
    const auto start = SteadyClock::now();
    const Descriptor socket(bench::connect_from("127.0.0.1", port));
    const std::string_view greeting = "SSH-2.0-OpenSSH_9.2\r\n";
    if (::send(socket.number(), greeting.data(), greeting.size(), MSG_NOSIGNAL) < 0)
        throw std::runtime_error("cannot send");
    std::array<char, 64> piece;
    if (::recv(socket.number(), piece.data(), piece.size(), 0) <= 0)
        throw std::runtime_error("no banner came");
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

void measure() {
    Listener ssh([](int peer) {
        (void)!::send(peer, banner.data(), banner.size(), MSG_NOSIGNAL);
        std::array<char, 256> piece;
        while (::recv(peer, piece.data(), piece.size(), 0) > 0) {
        }
        ::close(peer);
    });
    bench::GateProcess gate;
    const auto away = [](std::uint16_t port) { return [port](int peer) { forward(peer, port); }; };
    const Listener direct(away(ssh.port));
    const Listener links(away(gate.link_port()));
    const Listener calls(away(gate.call_port()));
    const bench::BenchMachine machine(
        gate, {.link_port = links.port, .call_port = calls.port, .local_port = ssh.port}, {});
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(banner_ms(bench::gate_doors_from));
        theirs.push_back(banner_ms(direct.port) + goal_more_ms);
    }
    fmt::print(
        "BENCH gate_first_byte_ms ours={:.1f} baseline=direct+2rtt+5ms:{:.1f} ratio={:.2f}\n",
        bench::median(ours), bench::median(theirs), bench::median(theirs) / bench::median(ours));
}

}  // namespace

int main() { return bench::run("gate_first_byte", measure); }
