// The connections of an Upstream, with the one timer for all that is on its way over them.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "http/stream.hpp"
#include "http/upstream.hpp"

namespace berth::http {

using SteadyClock = std::chrono::steady_clock;

struct Line;

// Who a connection serves: an exchange, or the lines while it waits for the next one.
class LineUser {
public:
    virtual void on_input(Line& line, const boost::system::error_code& error) = 0;

protected:
    ~LineUser() = default;
};

// One connection to an upstream. TLS, if any, is set up by the exchange that dials. A wait for
// input goes over from user to user: ending one to begin another costs as much as a small request.
struct Line : std::enable_shared_from_this<Line> {
    using Executor = boost::asio::io_context::executor_type;
    using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

    Line(boost::asio::io_context& io, LineUser& first) : socket(io.get_executor()), user(&first) {}

    void await_input();  // unless it does already

    Socket socket;
    LineUser* user;
    bool awaits_input = false;
    std::unique_ptr<Stream> stream;  // over the socket, once it is connected
    bool reused = false;
    SteadyClock::time_point ends_at{};  // then it serves nobody any more
    SteadyClock::time_point idle_until{};
};

// Something that may not take for ever.
class Timed : public std::enable_shared_from_this<Timed> {
public:
    static constexpr SteadyClock::time_point never = SteadyClock::time_point::max();

    virtual ~Timed() = default;
    virtual void on_late() = 0;

    SteadyClock::time_point deadline = never;
    std::size_t place = 0;  // among all of them
};

class Upstream::Lines final : public std::enable_shared_from_this<Upstream::Lines>,
                              private LineUser {
public:
    using Timer =
        boost::asio::basic_waitable_timer<SteadyClock, boost::asio::wait_traits<SteadyClock>,
                                          Line::Executor>;

    static constexpr std::size_t scratch_bytes = 32 * 1024;
    static constexpr std::size_t idle_max_each = 64;  // for one endpoint
    static constexpr std::size_t idle_max_all = 512;
    static constexpr std::chrono::seconds idle_max{20};

    explicit Lines(boost::asio::io_context& io)
        : io_(io), sweep_timer_(io.get_executor()), late_timer_(io.get_executor()) {}

    // One that waited, or null.
    std::shared_ptr<Line> take(const Endpoint& endpoint, LineUser& user);
    void keep(const Endpoint& endpoint, std::shared_ptr<Line> line);
    void close();  // keeps none from now on
    std::size_t idle() const { return idle_; }

    // From now on, until leave(), on_late() is called after the deadline. Whoever brings its
    // deadline forward says so; one that moved back is seen when the timer fires too early.
    void enter(Timed& timed);
    void leave(Timed& timed);
    void expect(SteadyClock::time_point deadline) {
        if (deadline < look_at_) arm(deadline);
    }

    boost::asio::io_context& io() { return io_; }
    // What was read last, and what it says without its chunks: for the exchange whose turn it is.
    std::vector<char>& scratch() { return scratch_; }
    std::string& decoded() { return decoded_; }
    const TlsContext& tls();

private:
    void on_input(Line& line, const boost::system::error_code& error) override;
    void sweep();
    void arm(SteadyClock::time_point deadline);
    void look();

    boost::asio::io_context& io_;
    Timer sweep_timer_;
    bool sweeping_ = false;
    bool closed_ = false;
    std::size_t idle_ = 0;
    std::map<Endpoint, std::deque<std::shared_ptr<Line>>> waiting_;  // the freshest at the back
    Timer late_timer_;
    SteadyClock::time_point look_at_ = Timed::never;  // when the timer fires
    std::vector<Timed*> timed_;
    std::vector<char> scratch_ = std::vector<char>(scratch_bytes);
    std::string decoded_;
    std::unique_ptr<TlsContext> tls_;
};

}  // namespace berth::http
