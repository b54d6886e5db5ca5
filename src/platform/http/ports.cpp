#include "http/ports.hpp"

#include <fmt/format.h>
#include <linux/filter.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "base/log.hpp"
#include "http/socket_address.hpp"
#include "http/watch.hpp"

namespace berth::http {
namespace {

constexpr int ports_backlog = 256;
constexpr int accepted_at_once_max = 16;  // of one port, before others have their turn
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
        over_ = true;
    }
    bool is_open(std::uint16_t port) const { return open_.contains(port); }
    std::size_t size() const { return open_.size(); }

private:
    // The socket is closed after the watch has let go of it.
    struct One {
        One(boost::asio::io_context& io, Descriptor listener)
            : socket(std::move(listener)), watch(io) {}

        Descriptor socket;
        Watch watch;
    };

    void await(std::uint16_t port, const std::shared_ptr<One>& one);
    void accept(std::uint16_t port, const std::shared_ptr<One>& one);
    void pause(std::uint16_t port, const std::shared_ptr<One>& one, int error);
    bool is_current(std::uint16_t port, const std::shared_ptr<One>& one) const {
        const auto found = open_.find(port);
        return !over_ && found != open_.end() && found->second == one;
    }

    const std::shared_ptr<Loop> loop_;
    const std::string address_;
    const std::function<void(Visitor)> on_visitor_;
    std::map<std::uint16_t, std::shared_ptr<One>> open_;
    bool over_ = false;
    bool short_of_means_ = false;  // said once, when accepting pauses
};

std::uint16_t Ports::Listening::open(std::uint16_t port) {
    if (port != 0 && is_open(port)) return port;
    const auto fail = [&](const char* why) {
        return std::runtime_error(
            fmt::format("cannot listen on {} port {}: {}", address_, port, why));
    };
    std::shared_ptr<One> one;
    try {
        one = std::make_shared<One>(loop_->io(), listen_at(address_, port));
    } catch (const std::runtime_error& error) {
        throw fail(error.what());
    }
    if (!one->watch.start(one->socket.number())) throw fail("the loop has no means for it");
    const std::uint16_t taken = port_of(one->socket.number());
    open_[taken] = one;
    await(taken, one);
    return taken;
}

void Ports::Listening::await(std::uint16_t port, const std::shared_ptr<One>& one) {
    one->watch.await_input([self = weak_from_this(), port,
                            weak = std::weak_ptr(one)](const boost::system::error_code& error) {
        const std::shared_ptr<Listening> here = self.lock();
        const std::shared_ptr<One> same = weak.lock();
        if (!error && here && same && here->is_current(port, same)) here->accept(port, same);
    });
}

// Accepting goes on whatever happens: one who vanished is skipped, and when the system is short of
// descriptors or memory there is a pause for some to come back.
void Ports::Listening::accept(std::uint16_t port, const std::shared_ptr<One>& one) {
    for (int i = 0; i < accepted_at_once_max; ++i) {
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        Descriptor socket(::accept4(one->socket.number(), reinterpret_cast<sockaddr*>(&peer), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket.number() < 0) {
            if (errno == EAGAIN) break;
            if (is_short_of_means(errno)) return pause(port, one, errno);
            continue;
        }
        short_of_means_ = false;
        on_visitor_({port, Carrier(std::move(socket)),
                     address_of(reinterpret_cast<const sockaddr&>(peer))});
        if (!is_current(port, one)) return;
    }
    await(port, one);
}

void Ports::Listening::pause(std::uint16_t port, const std::shared_ptr<One>& one, int error) {
    if (!std::exchange(short_of_means_, true))
        log(Level::warn, "accept_paused", {{"reason", std::strerror(error)}});
    loop_->after(ports_pause, [self = weak_from_this(), port, weak = std::weak_ptr(one)] {
        const std::shared_ptr<Listening> here = self.lock();
        const std::shared_ptr<One> same = weak.lock();
        if (here && same && here->is_current(port, same)) here->accept(port, same);
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
