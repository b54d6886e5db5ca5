// The HTTP/1.1 server: I/O threads that read requests, hand them to the Handler and write the
// answers back, in order, for as long as the connection is kept alive. A connection belongs to one
// of them; the first also accepts, and gives each connection to the one that has the fewest.
//
// It refuses what could be read in two ways (see parse.hpp) with a bare 400 and a closed
// connection, holds every phase of a connection to a deadline, and gives up no memory to
// connections that only wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "http/message.hpp"

namespace berth::http {

struct ServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;              // 0 takes a free one; port() tells which
    std::string tls_certificate_file{};  // both set: TLS; PEM files
    std::string tls_key_file{};
    // The same as texts, where there are no files.
    std::string tls_certificate{};
    std::string tls_key{};
    // One that listens already and is taken over; `address` and `port` say nothing then.
    int listening_socket = -1;
    std::vector<std::string> trusted_proxies{};  // addresses whose X-Forwarded-For is believed
    // Another process of this user may listen on the same port at the same time.
    bool reuse_port = false;
    // Connections that last: sessions are not kept for a next time, which costs memory for each.
    bool tls_resumption = true;
    // Not 0: a connection is over when the peer's system has not answered ours for so long.
    Duration unacknowledged_max{};
    std::size_t io_threads = 1;
    std::size_t connections_max = 20'000;              // then the longest idle ones go
    std::size_t connections_per_address_max = 20'000;  // proxies and loopback are not counted
    std::size_t header_bytes_max = 16 * 1024;
    std::size_t body_pace_bytes = 4 * 1024;
    // For the bytes of all requests that are not answered yet; servers may share one.
    std::shared_ptr<ByteBudget> request_bytes =
        std::make_shared<ByteBudget>(std::size_t{256} * 1024 * 1024);
    Duration header_max = std::chrono::seconds(10);
    Duration body_max = std::chrono::seconds(30);
    Duration body_pace = std::chrono::seconds(10);  // for each body_pace_bytes of it
    Duration write_max = std::chrono::seconds(30);
    Duration idle_max = std::chrono::seconds(75);
    Duration drain_max = std::chrono::seconds(10);
};

class Server {
public:
    // Binds and listens. Throws, with one sentence, std::invalid_argument when an option is wrong
    // and std::runtime_error when the address cannot be listened on.
    Server(ServerOptions options, Handler& handler);
    ~Server();  // stops, if stop() was not called

    void start();  // starts the I/O threads
    std::uint16_t port() const;
    std::size_t connections() const;       // open now
    std::uint64_t accepted() const;        // since the start
    std::uint64_t refused() const;         // closed at once because a limit was reached
    std::uint64_t evicted() const;         // closed while idle, to make room
    std::uint64_t not_understood() const;  // requests that got a bare refusal
    // Requests with X-Forwarded-For from a peer that is no trusted proxy.
    std::uint64_t forwarded_unbelieved() const;

    // Reads the certificate and key again; connections that exist keep the old ones. Throws
    // std::invalid_argument, and goes on with what it had, when the files cannot be used.
    void reload_tls();

    // Closes the port, and comes back when that is done; connections stay and go on. From any
    // thread.
    void stop_listening();

    // Takes no new connections, lets requests in progress end (at most drain_max), closes the rest.
    void stop();

private:
    struct Shared;
    struct IoLoop;
    std::unique_ptr<Shared> shared_;
    std::vector<std::unique_ptr<IoLoop>> loops_;  // the first accepts
    bool stopped_ = false;
};

}  // namespace berth::http
