// The connections of an Upstream: those that wait for the next request to their endpoint.
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

// One connection to an upstream. TLS, if any, is set up by the exchange that dials.
struct Line {
    using Executor = boost::asio::io_context::executor_type;
    using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

    explicit Line(boost::asio::io_context& io) : socket(io.get_executor()) {}

    Socket socket;
    std::unique_ptr<Stream> stream;  // over the socket, once it is connected
    bool reused = false;
    SteadyClock::time_point idle_until{};
};

class Upstream::Lines : public std::enable_shared_from_this<Upstream::Lines> {
public:
    using Timer = boost::asio::basic_waitable_timer<
        SteadyClock, boost::asio::wait_traits<SteadyClock>, Line::Executor>;

    static constexpr std::size_t scratch_bytes = 32 * 1024;
    static constexpr std::size_t idle_max_each = 64;   // for one endpoint
    static constexpr std::size_t idle_max_all = 512;
    static constexpr std::chrono::seconds idle_max{20};

    explicit Lines(boost::asio::io_context& io) : io_(io), sweep_timer_(io.get_executor()) {}

    // One that waited, or null.
    std::unique_ptr<Line> take(const Endpoint& endpoint);
    void keep(const Endpoint& endpoint, std::unique_ptr<Line> line);
    void close();  // keeps none from now on
    std::size_t idle() const { return idle_; }

    boost::asio::io_context& io() { return io_; }
    // What was read last, and what it says without its chunks: for the exchange whose turn it is.
    std::vector<char>& scratch() { return scratch_; }
    std::string& decoded() { return decoded_; }
    const TlsContext& tls();

private:
    void watch(Line& line);
    void drop(const Line* line);
    void sweep();

    boost::asio::io_context& io_;
    Timer sweep_timer_;
    bool sweeping_ = false;
    bool closed_ = false;
    std::size_t idle_ = 0;
    std::map<Endpoint, std::deque<std::unique_ptr<Line>>> waiting_;  // the freshest at the back
    std::vector<char> scratch_ = std::vector<char>(scratch_bytes);
    std::string decoded_;
    std::unique_ptr<TlsContext> tls_;
};

}  // namespace berth::http
