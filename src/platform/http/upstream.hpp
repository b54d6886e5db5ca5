// Outbound HTTP/1.1 on an I/O thread's own loop, for what has to be passed on while it comes: bytes
// are handed over as they arrive, and not read at all while the reader has no room for them.
//
// It dials the address it is given and nothing else (see resolve.hpp) and follows no redirect.
// Everything happens on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "http/address.hpp"
#include "http/message.hpp"

namespace boost::asio {
class io_context;
}

namespace berth::http {

struct Endpoint {
    Address address{};
    std::uint16_t port = 0;
    std::string host{};  // for the Host field, and the name in the certificate
    bool tls = false;
    // SHA-256 of the public key that the peer must have (of its SubjectPublicKeyInfo, 32 bytes).
    // With it no authority is asked; without it the system's authorities decide.
    std::string key_sha256{};

    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

struct UpstreamRequest {
    Endpoint endpoint{};
    std::string method = "GET";
    std::string target = "/";
    // Host, Content-Length, Transfer-Encoding, Connection and Upgrade are ours: they are left out.
    Headers headers{};
    std::string body{};
    ByteShare held{};               // what the body takes of a budget; both go once it is sent
    bool fresh_connection = false;  // none that was used before
    // A connection that is older serves no other request. What is on the way to the upstream may be
    // exchanged (a gate's process, for one), and is free of us some time after.
    Duration connection_life = std::chrono::seconds(60);
    // Once more, on a fresh connection, when this one could not be made, or had served before and
    // ended before anything of the body was sent.
    bool try_again = false;
    Duration connect_max = std::chrono::seconds(5);      // TCP and TLS together
    Duration first_byte_max = std::chrono::seconds(60);  // from there to the first byte
    Duration silence_max = std::chrono::seconds(60);     // then for the head, and between two reads
    // The protocol that the peer is asked to switch to; empty: none. Where it does, the head has
    // switching_status and bytes go both ways until one side ends.
    std::string switch_to{};
    Duration switched_silence_max = std::chrono::hours(1);  // between two bytes either way
};

struct UpstreamHead {
    int status = 0;
    Headers headers{};
};

struct UpstreamFailure {
    enum class Phase {
        connect,     // nothing was sent
        first_byte,  // the request may have been carried out
        answer,      // a part of the answer came
    };
    Phase phase = Phase::connect;
    bool body_sent = false;  // some of it at least
    // The connection had served before: in phase first_byte its end may only mean that it was idle
    // for too long, and a request that may be repeated is worth a fresh one.
    bool reused = false;
    std::string reason{};
};

// Called from the loop, never from inside start() or resume(). Each may let go of its UpstreamCall.
class UpstreamReader {
public:
    virtual ~UpstreamReader() = default;
    virtual void on_head(UpstreamHead head) = 0;
    // False: no more until resume(). What was read already still comes.
    [[nodiscard]] virtual bool on_bytes(std::string_view bytes) = 0;
    // After a send() that said false.
    virtual void on_sendable() {}
    // All that was read so far has been handed over, and more is to come.
    virtual void on_pause() {}
    // One of these comes last.
    virtual void on_end() = 0;
    virtual void on_failure(const UpstreamFailure& failure) = 0;
};

// A request on its way. It ends with this object: then the connection is closed at once, if there
// is more to come, and the reader hears nothing more.
class UpstreamCall {
public:
    class Exchange;

    explicit UpstreamCall(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    ~UpstreamCall();
    UpstreamCall(const UpstreamCall&) = delete;
    UpstreamCall& operator=(const UpstreamCall&) = delete;

    void resume();  // after on_bytes() returned false
    // To a peer that switched. Takes all of `bytes`; false when enough waits to be sent: no more
    // before on_sendable().
    [[nodiscard]] bool send(std::string_view bytes);

private:
    std::shared_ptr<Exchange> exchange_;
};

class Upstream {
public:
    class Lines;

    explicit Upstream(boost::asio::io_context& io);
    ~Upstream();

    // `reader` lives as long as the call.
    std::unique_ptr<UpstreamCall> start(UpstreamRequest request, UpstreamReader& reader);
    std::size_t idle_connections() const;

private:
    std::shared_ptr<Lines> lines_;
};

}  // namespace berth::http
