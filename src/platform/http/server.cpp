#include "http/server.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "http/connection.hpp"
#include "http/respond.hpp"
#include "http/upstream.hpp"

namespace berth::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// The loop's own executor instead of the type-erased one: smaller sockets, quicker calls.
using Executor = asio::io_context::executor_type;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using SteadyClock = std::chrono::steady_clock;
using Timer = asio::basic_waitable_timer<SteadyClock, asio::wait_traits<SteadyClock>, Executor>;

constexpr int backlog_connections = 4096;
constexpr std::chrono::milliseconds accept_pause{50};
constexpr Duration tick_min = std::chrono::milliseconds(5);
constexpr Duration tick_max = std::chrono::milliseconds(500);

bool is_shortage(const error_code& error) {
    return error == asio::error::no_descriptors || error == asio::error::no_memory ||
           error == asio::error::no_buffer_space ||
           error == boost::system::errc::too_many_files_open_in_system;
}

AddressBlocks parse_blocks(const std::vector<std::string>& texts) {
    AddressBlocks blocks;
    for (const std::string& text : texts) {
        const std::optional<AddressBlock> block = AddressBlock::parse(text);
        if (!block)
            throw std::invalid_argument(
                fmt::format("the trusted proxy '{}' is neither an address nor a block", text));
        blocks.push_back(*block);
    }
    return blocks;
}

// How often deadlines are looked at: often enough for the shortest of them.
Duration tick_of(const ServerOptions& options) {
    const Duration shortest = std::min({options.header_max, options.body_max, options.body_pace,
                                        options.write_max, options.idle_max});
    return std::clamp(shortest / 4, tick_min, tick_max);
}

}  // namespace

// What all loops of a server have in common.
struct Server::Shared {
    explicit Shared(ServerOptions given)
        : options(std::move(given)),
          admission(std::make_shared<Admission>(options.connections_per_address_max,
                                                parse_blocks(options.trusted_proxies))) {}

    void load_tls();
    std::shared_ptr<const TlsContext> current_tls() {
        const std::lock_guard lock(tls_mutex);
        return tls;
    }
    std::size_t connections_of_loop_max() const {
        return (options.connections_max + options.io_threads - 1) / options.io_threads;
    }

    const ServerOptions options;
    // Connections that were handed over may be counted for longer than the server lives.
    const std::shared_ptr<Admission> admission;
    std::uint16_t port = 0;
    std::vector<IoLoop*> loops;
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> evicted{0};

    std::mutex tls_mutex;
    std::shared_ptr<const TlsContext> tls;  // for the next connection
};

struct Server::IoLoop {
    struct Slot {
        explicit Slot(const Executor& executor) : socket(executor) {}

        Socket socket;
        std::unique_ptr<Connection> connection;  // empty: the slot is free
        std::uint64_t serial = 0;                // of the connection
        bool awaits_input = false;               // the loop will call ready()
        bool awaits_room = false;
    };

    // What the loop calls when a socket is ready. It names the connection and holds nothing.
    struct Ready {
        IoLoop* loop;
        std::uint64_t serial;
        std::uint32_t slot;
        Readiness what;

        void operator()(const error_code& error) const { loop->ready(*this, error); }
    };

    IoLoop(Server::Shared& shared_, Handler& handler);

    void listen();
    void take_over(int listening_socket);
    void run();
    void accept();
    void stop_listening();
    void welcome(Socket socket, const tcp::endpoint& peer);
    void admit(Socket socket, const Address& peer);
    bool make_room();
    std::uint32_t take_slot();
    void ready(const Ready& ready, const error_code& error);
    void deliver();
    void follow(std::uint32_t index, Wants wants);
    void await(std::uint32_t index, Readiness what);
    void changed(const Token& token);
    void expire(std::uint32_t index);
    void release(std::uint32_t index);
    void free_slot(std::uint32_t index);
    void hand_over(std::uint32_t index);
    void tick();
    void drain();

    Shared& shared;
    asio::io_context io{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};  // sockets belong to one thread
    Acceptor acceptor{io.get_executor()};
    Socket arriving{io.get_executor()};
    tcp::endpoint arriving_from;
    Timer tick_timer{io.get_executor()};
    Timer accept_timer{io.get_executor()};
    Timer drain_timer{io.get_executor()};
    Upstream upstream{io};
    Surroundings around;

    std::deque<Slot> slots;
    std::vector<std::uint32_t> free_slots;
    std::uint64_t serials = 0;
    bool short_of_means = false;  // said once, when accepting pauses

    std::atomic<std::size_t> connections{0};
    std::thread thread;
};

Server::Server(ServerOptions options, Handler& handler)
    : shared_(std::make_unique<Shared>(std::move(options))) {
    check(shared_->options.io_threads > 0, "a server has an I/O thread");
    shared_->load_tls();
    for (std::size_t i = 0; i < shared_->options.io_threads; ++i) {
        loops_.push_back(std::make_unique<IoLoop>(*shared_, handler));
        shared_->loops.push_back(loops_.back().get());
    }
    loops_.front()->listen();
}

Server::~Server() { stop(); }

void Server::start() {
    check(!loops_.front()->thread.joinable() && !stopped_, "a server starts once");
    for (const auto& loop : loops_) loop->thread = std::thread([at = loop.get()] { at->run(); });
}

std::uint16_t Server::port() const { return shared_->port; }
std::uint64_t Server::accepted() const { return shared_->accepted; }
std::uint64_t Server::evicted() const { return shared_->evicted; }
std::uint64_t Server::refused() const { return shared_->admission->connections_refused(); }
std::uint64_t Server::not_understood() const { return shared_->admission->requests_refused(); }
std::uint64_t Server::forwarded_unbelieved() const { return shared_->admission->unbelieved(); }

std::size_t Server::connections() const {
    std::size_t sum = 0;
    for (const auto& loop : loops_) sum += loop->connections;
    return sum;
}

void Server::reload_tls() { shared_->load_tls(); }

void Server::stop_listening() {
    IoLoop* const first = loops_.front().get();
    if (!first->thread.joinable() || first->thread.get_id() == std::this_thread::get_id())
        return first->stop_listening();
    const auto done = std::make_shared<std::promise<void>>();
    asio::post(first->io, [first, done] {
        first->stop_listening();
        done->set_value();
    });
    done->get_future().wait();
}

void Server::stop() {
    if (std::exchange(stopped_, true)) return;
    for (const auto& loop : loops_)
        if (loop->thread.joinable()) asio::post(loop->io, [at = loop.get()] { at->drain(); });
    for (const auto& loop : loops_)
        if (loop->thread.joinable()) loop->thread.join();
    for (const auto& loop : loops_) {
        loop->around.answers->close();
        loop->around.loop->close();
        loop->acceptor.close();
        for (std::uint32_t i = 0; i < loop->slots.size(); ++i) loop->release(i);
    }
}

Server::IoLoop::IoLoop(Server::Shared& shared_, Handler& handler)
    : shared(shared_),
      around{.options = shared.options,
             .handler = handler,
             .admission = *shared.admission,
             .answers =
                 std::make_shared<AnswerQueue>([this] { asio::post(io, [this] { deliver(); }); }),
             .upstream = upstream,
             .loop = std::make_shared<http::Loop>(
                 [this](http::Loop::Work work) { asio::post(io, std::move(work)); }, &io),
             .changed = [this](const Token& token) { changed(token); },
             .trusted_proxies = parse_blocks(shared.options.trusted_proxies),
             .date_line = {}} {}

void Server::IoLoop::listen() {
    const ServerOptions& options = shared.options;
    error_code error;
    if (options.listening_socket >= 0) return take_over(options.listening_socket);
    const auto address = asio::ip::make_address(options.address, error);
    if (error)
        throw std::invalid_argument(
            fmt::format("the listen address '{}' is not an IP address", options.address));
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && options.reuse_port) {
        const int yes = 1;
        ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    }
    if (!error && address.is_v6() && address.is_unspecified())
        acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(backlog_connections, error);
    if (error)
        throw std::runtime_error(fmt::format("cannot listen on {} port {}: {}", options.address,
                                             options.port, error.message()));
    shared.port = acceptor.local_endpoint().port();
}

void Server::IoLoop::take_over(int listening_socket) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    error_code error;
    if (::getsockname(listening_socket, reinterpret_cast<sockaddr*>(&own), &size) != 0)
        throw std::runtime_error("the listening socket that was given is none");
    acceptor.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), listening_socket, error);
    if (error)
        throw std::runtime_error(
            fmt::format("the listening socket cannot be taken over: {}", error.message()));
    shared.port = acceptor.local_endpoint().port();
}

void Server::Shared::load_tls() {
    if (!options.tls_certificate.empty()) {
        auto given = std::make_shared<TlsContext>(
            TlsContext::from_pem(options.tls_certificate, options.tls_key));
        if (!options.tls_resumption) given->forget_sessions();
        const std::lock_guard lock(tls_mutex);
        tls = std::move(given);
        return;
    }
    if (options.tls_certificate_file.empty() && options.tls_key_file.empty()) return;
    if (options.tls_certificate_file.empty() || options.tls_key_file.empty())
        throw std::invalid_argument("TLS needs both a certificate file and a key file");
    auto fresh = std::make_shared<TlsContext>(options.tls_certificate_file, options.tls_key_file);
    if (!options.tls_resumption) fresh->forget_sessions();
    const std::lock_guard lock(tls_mutex);
    tls = std::move(fresh);
}

void Server::IoLoop::run() {
    // OpenSSL writes without MSG_NOSIGNAL; a peer that went away must not end the process.
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    tick();
    if (acceptor.is_open()) accept();
    io.run();
}

// Accepting goes on whatever happens: a connection that vanished is skipped, and when the system
// is short of descriptors or memory there is a pause for some to come back.
void Server::IoLoop::accept() {
    acceptor.async_accept(arriving, arriving_from, [this](const error_code& error) {
        if (error == asio::error::operation_aborted) return;
        if (is_shortage(error) && acceptor.is_open()) {
            if (!std::exchange(short_of_means, true))
                log(Level::warn, "accept_paused", {{"reason", error.message()}});
            accept_timer.expires_after(accept_pause);
            accept_timer.async_wait([this](const error_code& cancelled) {
                if (!cancelled && acceptor.is_open()) accept();
            });
            return;
        }
        short_of_means = false;
        // One may have come in just before the port was closed.
        if (!error) welcome(std::exchange(arriving, Socket(io.get_executor())), arriving_from);
        if (acceptor.is_open()) accept();
    });
}

// Closing resets those who wait to be let in, so they are let in first.
void Server::IoLoop::stop_listening() {
    if (!acceptor.is_open()) return;
    error_code error;
    acceptor.cancel(error);
    acceptor.non_blocking(true, error);
    while (!error) {
        Socket next(io.get_executor());
        tcp::endpoint from;
        acceptor.accept(next, from, error);
        if (!error) welcome(std::move(next), from);
    }
    acceptor.close(error);
}

// Gives the connection to the loop with the fewest. Sockets belong to the thread of their loop, so
// another one gets the bare descriptor and makes its own socket of it.
void Server::IoLoop::welcome(Socket socket, const tcp::endpoint& peer) {
    shared.accepted.fetch_add(1, std::memory_order_relaxed);
    const Address address = address_of(*peer.data());
    if (!shared.admission->enter(address)) {
        shared.admission->refuse_connection("its address has as many as it may");
        return;
    }
    IoLoop* const target = *std::min_element(
        shared.loops.begin(), shared.loops.end(),
        [](const IoLoop* a, const IoLoop* b) { return a->connections < b->connections; });
    target->connections.fetch_add(1, std::memory_order_relaxed);
    if (target == this) return admit(std::move(socket), address);
    error_code error;
    Descriptor descriptor(socket.release(error));
    asio::post(target->io, [target, address, protocol = peer.protocol(),
                            given = std::move(descriptor)]() mutable {
        target->admit(Socket(target->io.get_executor(), protocol, given.release()), address);
    });
}

// The connection is counted already, here and at the admission.
void Server::IoLoop::admit(Socket socket, const Address& peer) {
    const bool full =
        connections.load(std::memory_order_relaxed) > shared.connections_of_loop_max();
    error_code error;
    if (full && !make_room()) {
        shared.admission->refuse_connection("the server has as many as it may");
        error = asio::error::no_descriptors;
    }
    if (!error) socket.set_option(tcp::no_delay(true), error);
    if (!error) socket.native_non_blocking(true, error);
    if (error || around.draining) {  // or it is gone already
        connections.fetch_sub(1, std::memory_order_relaxed);
        shared.admission->leave(peer);
        return;
    }
    const std::shared_ptr<const TlsContext> context = shared.current_tls();
    const std::uint32_t index = take_slot();
    Slot& slot = slots[index];
    slot.socket = std::move(socket);
    slot.serial = ++serials;
    Stream stream(slot.socket.native_handle(), context.get());
    if (shared.options.unacknowledged_max > Duration{})
        stream.bound_unacknowledged(shared.options.unacknowledged_max);
    slot.connection =
        std::make_unique<Connection>(around, std::move(stream), peer,
                                     Token{.slot = index, .request = 0, .connection = slot.serial});
    follow(index, Wants::input);
}

// Lets go of the connections that have been idle for longest: one in a hundred, so that a full
// server does not look at all of them for every newcomer. False when all are at work.
bool Server::IoLoop::make_room() {
    std::vector<std::pair<SteadyClock::time_point, std::uint32_t>> idle;
    for (std::uint32_t i = 0; i < slots.size(); ++i)
        if (slots[i].connection != nullptr)
            if (const auto since = slots[i].connection->idle_since()) idle.emplace_back(*since, i);
    if (idle.empty()) return false;
    const std::size_t count = std::min(idle.size(), 1 + shared.connections_of_loop_max() / 100);
    std::nth_element(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(count - 1),
                     idle.end());
    for (std::size_t i = 0; i < count; ++i) release(idle[i].second);
    shared.evicted.fetch_add(count, std::memory_order_relaxed);
    return true;
}

std::uint32_t Server::IoLoop::take_slot() {
    if (free_slots.empty()) {
        slots.emplace_back(io.get_executor());
        return static_cast<std::uint32_t>(slots.size() - 1);
    }
    const std::uint32_t index = free_slots.back();
    free_slots.pop_back();
    return index;
}

void Server::IoLoop::ready(const Ready& ready, const error_code& error) {
    Slot& slot = slots[ready.slot];
    if (slot.connection == nullptr || slot.serial != ready.serial) return;
    (ready.what == Readiness::input ? slot.awaits_input : slot.awaits_room) = false;
    if (error)
        release(ready.slot);
    else
        follow(ready.slot, slot.connection->on_ready(ready.what));
}

void Server::IoLoop::deliver() {
    for (AnswerQueue::Answer& answer : around.answers->take()) {
        Slot& slot = slots[answer.token.slot];
        if (slot.connection == nullptr || slot.serial != answer.token.connection) continue;
        follow(answer.token.slot,
               slot.connection->on_answer(answer.token.request, std::move(answer.response)));
    }
}

void Server::IoLoop::follow(std::uint32_t index, Wants wants) {
    Slot& slot = slots[index];
    if (wants == Wants::end) return release(index);
    if (wants == Wants::hand_over) return hand_over(index);
    if (wants == Wants::room) await(index, Readiness::room);
    if (wants == Wants::input || slot.connection->is_watching()) await(index, Readiness::input);
}

void Server::IoLoop::await(std::uint32_t index, Readiness what) {
    Slot& slot = slots[index];
    const bool input = what == Readiness::input;
    if (std::exchange(input ? slot.awaits_input : slot.awaits_room, true)) return;
    slot.socket.async_wait(input ? Socket::wait_read : Socket::wait_write,
                           Ready{this, slot.serial, index, what});
}

// In the next turn of the loop: a source must not be gone from under itself.
void Server::IoLoop::changed(const Token& token) {
    asio::post(io, [this, token] {
        Slot& slot = slots[token.slot];
        if (slot.connection != nullptr && slot.serial == token.connection)
            follow(token.slot, slot.connection->on_changed());
    });
}

void Server::IoLoop::expire(std::uint32_t index) {
    Slot& slot = slots[index];
    error_code ignored;
    // A peer that does not read would make the system keep what we sent; a reset frees it at once.
    if (slot.connection->is_writing())
        slot.socket.set_option(tcp::socket::linger(true, 0), ignored);
    release(index);
}

void Server::IoLoop::release(std::uint32_t index) {
    Slot& slot = slots[index];
    if (slot.connection == nullptr) return;
    shared.admission->leave(slot.connection->peer());
    error_code ignored;
    slot.connection.reset();
    slot.socket.close(ignored);
    free_slot(index);
}

void Server::IoLoop::free_slot(std::uint32_t index) {
    slots[index].awaits_input = slots[index].awaits_room = false;
    free_slots.push_back(index);
    connections.fetch_sub(1, std::memory_order_relaxed);
    if (around.draining && free_slots.size() == slots.size()) io.stop();
}

// The slot is free before the next owner is called, who may do anything.
void Server::IoLoop::hand_over(std::uint32_t index) {
    Slot& slot = slots[index];
    Connection::GivenAway given = slot.connection->give_away();
    const std::shared_ptr<const void> place(
        shared.admission.get(), [admission = shared.admission, peer = slot.connection->peer()](
                                    const void*) { admission->leave(peer); });
    slot.connection.reset();
    error_code error;
    Descriptor socket(slot.socket.release(error));
    if (error) slot.socket.close(error);
    free_slot(index);
    if (socket.number() < 0) return;
    HandedOver all{Carrier(std::move(socket), std::move(given.stream), std::move(given.ahead)),
                   around.loop, place};
    try {
        given.to(all);
    } catch (const std::exception& thrown) {
        log(Level::error, "handler_threw", {{"what", thrown.what()}});
    }
}

// One look at every deadline, a few times in the shortest of them. It costs less than a timer for
// each connection, and the date in answers comes with it.
void Server::IoLoop::tick() {
    around.date_line = date_line(SystemClock{}.now());
    const SteadyClock::time_point now = SteadyClock::now();
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
        if (slots[i].connection != nullptr && slots[i].connection->deadline() <= now) expire(i);
    }
    tick_timer.expires_after(tick_of(shared.options));
    tick_timer.async_wait([this](const error_code& cancelled) {
        if (!cancelled) tick();
    });
}

void Server::IoLoop::drain() {
    around.draining = true;
    drain_timer.expires_after(shared.options.drain_max);
    drain_timer.async_wait([this](const error_code&) { io.stop(); });
    acceptor.close();
    for (std::uint32_t i = 0; i < slots.size(); ++i)
        if (slots[i].connection != nullptr) follow(i, slots[i].connection->on_drain());
    if (free_slots.size() == slots.size()) io.stop();
}

}  // namespace berth::http
