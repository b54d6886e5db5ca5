#include "http/ports.hpp"

#include <fmt/format.h>
#include <linux/filter.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/log.hpp"
#include "http/socket_address.hpp"
#include "http/watch.hpp"

namespace berth::http {
namespace {

constexpr int ports_backlog = 256;
constexpr int accepted_at_once_max = 16;  // of one port, before others have their turn
constexpr int ready_at_once_max = 64;     // ports
constexpr std::chrono::milliseconds ports_pause{50};

bool is_short_of_means(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Where two processes hold one port, the second listener gets every new connection: it is the newer
// process, and nobody is lost at the older one. A listener that is alone is asked by default. Where
// the system knows no such filter, connections are spread.
void prefer_newer(int socket) {
    sock_filter second[] = {{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 1}};
    const sock_fprog program{.len = 1, .filter = second};
    ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
}

// "::" takes IPv4 too.
Descriptor listen_at(const std::string& address, std::uint16_t port) {
    const std::optional<Address> parsed = parse_address(address);
    if (!parsed) throw std::runtime_error("that is no IP address");
    const SocketAddress place(*parsed, port);
    Descriptor socket(::socket(place.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    const int no = 0;
    const auto set = [&](int level, int name, const int& value) {
        return ::setsockopt(socket.number(), level, name, &value, sizeof value) == 0;
    };
    const bool good = socket.number() >= 0 && set(SOL_SOCKET, SO_REUSEADDR, yes) &&
                      set(SOL_SOCKET, SO_REUSEPORT, yes) &&
                      (place.family() == AF_INET || set(IPPROTO_IPV6, IPV6_V6ONLY, no)) &&
                      ::bind(socket.number(), place.data(), place.size()) == 0 &&
                      ::listen(socket.number(), ports_backlog) == 0;
    if (!good) throw std::runtime_error(std::strerror(errno));
    prefer_newer(socket.number());
    return socket;
}

std::uint16_t port_of(int socket) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size);
    return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(own).sin_port);
}

}  // namespace

class Ports::Listening : public std::enable_shared_from_this<Ports::Listening> {
public:
    Listening(std::shared_ptr<Loop> loop, std::string address,
              std::function<void(Visitor)> on_visitor)
        : loop_(std::move(loop)),
          address_(std::move(address)),
          on_visitor_(std::move(on_visitor)) {}

    std::uint16_t open(std::uint16_t port);
    void close(std::uint16_t port) { open_.erase(port); }
    void close_all() {
        open_.clear();
        watch_.reset();
    }
    bool is_open(std::uint16_t port) const { return open_.contains(port); }
    std::size_t size() const { return open_.size(); }

private:
    void start_watching();
    void await();
    void look();
    bool accept(std::uint16_t port);
    void pause(int error);

    const std::shared_ptr<Loop> loop_;
    const std::string address_;
    const std::function<void(Visitor)> on_visitor_;
    // An epoll of its own, which is ready when one of the ports is: a gate has a port for each
    // machine, and what a loop keeps for each thing that it waits for adds up.
    Descriptor ready_;
    std::optional<Watch> watch_;  // let go of before that is closed
    std::map<std::uint16_t, Descriptor> open_;
    bool short_of_means_ = false;  // said once, when accepting pauses
};

std::uint16_t Ports::Listening::open(std::uint16_t port) {
    if (port != 0 && is_open(port)) return port;
    try {
        if (!watch_) start_watching();
        Descriptor socket = listen_at(address_, port);
        const std::uint16_t taken = port_of(socket.number());
        epoll_event wish{.events = EPOLLIN, .data = {.u32 = taken}};
        if (::epoll_ctl(ready_.number(), EPOLL_CTL_ADD, socket.number(), &wish) != 0)
            throw std::runtime_error(std::strerror(errno));
        open_[taken] = std::move(socket);
        return taken;
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(
            fmt::format("cannot listen on {} port {}: {}", address_, port, error.what()));
    }
}

void Ports::Listening::start_watching() {
    ready_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    watch_.emplace(loop_->io());
    if (ready_.number() < 0 || !watch_->start(ready_.number())) {
        watch_.reset();
        throw std::runtime_error("the loop has no means for it");
    }
    await();
}

void Ports::Listening::await() {
    if (!watch_) return;
    watch_->await_input([weak = weak_from_this()](const boost::system::error_code& error) {
        const std::shared_ptr<Listening> self = weak.lock();
        if (self && !error) self->look();
    });
}

// Accepting goes on whatever happens: one who vanished is skipped, and when the system is short of
// descriptors or memory there is a pause for some to come back. What is left at a port makes it
// ready again.
void Ports::Listening::look() {
    std::array<epoll_event, ready_at_once_max> events;
    const int count = ::epoll_wait(ready_.number(), events.data(), ready_at_once_max, 0);
    for (int i = 0; i < count; ++i) {
        const auto port = static_cast<std::uint16_t>(events[static_cast<std::size_t>(i)].data.u32);
        if (!accept(port)) return pause(errno);
    }
    await();
}

// False when the system is short of means. Whoever visits may close this port, or all of them.
bool Ports::Listening::accept(std::uint16_t port) {
    for (int i = 0; i < accepted_at_once_max; ++i) {
        const auto at = open_.find(port);
        if (at == open_.end()) return true;
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        Descriptor socket(::accept4(at->second.number(), reinterpret_cast<sockaddr*>(&peer), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket.number() < 0) {
            if (errno == EAGAIN) return true;
            if (is_short_of_means(errno)) return false;
            continue;
        }
        short_of_means_ = false;
        on_visitor_({port, Carrier(std::move(socket)),
                     address_of(reinterpret_cast<const sockaddr&>(peer))});
    }
    return true;
}

void Ports::Listening::pause(int error) {
    if (!std::exchange(short_of_means_, true))
        log(Level::warn, "accept_paused", {{"reason", std::strerror(error)}});
    loop_->after(ports_pause, [weak = weak_from_this()] {
        if (const std::shared_ptr<Listening> self = weak.lock()) self->await();
    });
}

Ports::Ports(std::shared_ptr<Loop> loop, std::string address,
             std::function<void(Visitor)> on_visitor)
    : listening_(std::make_shared<Listening>(std::move(loop), std::move(address),
                                             std::move(on_visitor))) {}

Ports::~Ports() { listening_->close_all(); }

std::uint16_t Ports::open(std::uint16_t port) { return listening_->open(port); }
void Ports::close(std::uint16_t port) { listening_->close(port); }
bool Ports::is_open(std::uint16_t port) const { return listening_->is_open(port); }
std::size_t Ports::size() const { return listening_->size(); }

}  // namespace berth::http
