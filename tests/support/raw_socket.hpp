// A TCP client that sends exactly the bytes it is told to, for tests of what no proper client would
// send. Every wait has a deadline; running into it is an exception, which fails the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace berth::support {

inline constexpr std::chrono::milliseconds socket_wait_max{240'000};

class RawSocket {
public:
    struct Options {
        int receive_bytes = 0;  // SO_RCVBUF; 0 leaves it to the system
    };

    explicit RawSocket(std::uint16_t port) : RawSocket(port, Options{}) {}
    RawSocket(std::uint16_t port, Options options);  // on 127.0.0.1
    static RawSocket adopt(int socket) { return RawSocket(Adopted{socket}); }
    ~RawSocket();
    RawSocket(RawSocket&& other) noexcept;
    RawSocket& operator=(RawSocket&&) = delete;

    void send(std::string_view bytes);
    // Like send(), but true only if the peer took all: it may close while we send.
    [[nodiscard]] bool try_send(std::string_view bytes);
    void finish_sending();
    int number() const { return socket_; }  // for what is not here

    // One response with its body as Content-Length says; `no_body` for the answer to a HEAD.
    http::Response receive(bool no_body = false);
    // Everything up to and with the mark.
    std::string receive_until(std::string_view mark);
    // Everything up to the end of the connection; a reset counts as an end.
    std::string receive_all();
    // Reads once and drops it; how much that was, 0 at the end of the connection.
    std::size_t take_some();
    bool skip_some() { return take_some() > 0; }
    // Waits until the peer has closed or reset the connection, dropping what it still sends.
    void await_end();
    // True when there is something to read (or an end) within the time.
    bool readable_within(std::chrono::milliseconds span) const;
    // True when nothing came and the connection is open right now.
    bool is_quiet() const;

private:
    struct Adopted {
        int socket;
    };
    explicit RawSocket(Adopted adopted) : socket_(adopted.socket) {}
    bool fill();  // false at the end of the connection

    int socket_;
    std::string buffer_;
};

}  // namespace berth::support
