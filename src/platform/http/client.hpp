// Outbound HTTP through libcurl: one blocking call with a deadline, never used on the I/O thread
// nor inside a transaction. Redirects are not followed.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "http/message.hpp"

namespace berth::http {

struct Outbound {
    std::string method = "GET";
    std::string url{};  // http or https
    Headers headers{};
    std::string body{};
    Duration connect_max = std::chrono::seconds(5);
    Duration total_max = std::chrono::seconds(15);
    std::size_t response_bytes_max = 4 * 1024 * 1024;
    // What an answer has beyond that is left out, and not waited for; else it is a fault.
    bool cuts_response = false;
    // The address that is dialled for the host of `url`, which was judged before (resolve.hpp);
    // certificates are those of the host. Empty: whichever the system finds for it.
    std::string dialled_address{};
    std::string ca_file{};  // empty: the system's certificates
    // SHA-256 of the public key that the other side must have; then it needs no certificate that
    // anybody vouches for. Empty: it does.
    std::string pinned_key{};
    // Takes the body of an answer from 200 to 299 as it comes. `total_max` is then how long the
    // other side may be silent, and the bytes are not limited.
    std::function<void(std::string_view)> take{};
    // Over a connection of its own. libcurl repeats by itself what it sent over a kept one that
    // was closed meanwhile: not for what must not be done twice.
    bool fresh_connection = false;
    // Asked about once a second, and whenever something came: true gives the request up, which is a
    // TransportError. For answers without an end.
    std::function<bool()> is_over{};
    // Asked by the LineClient when there is a connection and nothing of the request has left: false
    // gives it up, which is a TransportError.
    std::function<bool()> may_begin{};
};

// No usable answer came: no connection, no time left, an answer too large, a broken TLS handshake.
class TransportError : public std::exception {
public:
    explicit TransportError(std::string message, bool was_sent = true)
        : message_(std::move(message)), was_sent_(was_sent) {}
    const char* what() const noexcept override { return message_.c_str(); }
    // Something of the request left: the other side may have acted on it.
    bool was_sent() const { return was_sent_; }

private:
    std::string message_;
    bool was_sent_;
};

// Asking again would bring the same.
class AnswerTooLarge final : public TransportError {
public:
    AnswerTooLarge() : TransportError("the answer is too large") {}
};

class Client {
public:
    virtual ~Client() = default;
    virtual Response send(const Outbound& request) = 0;
};

// Safe to call from any thread; connections are kept for reuse by whichever thread comes next.
class CurlClient final : public Client {
public:
    Response send(const Outbound& request) override;
};

}  // namespace berth::http
