// A gate in this process, with everybody around it written from the protocol's page: a server that
// takes reports, machines that sign requests and show tickets, strangers. What they send is put
// together as text here, and not by the program's own types.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crypto/ed25519.hpp"
#include "gate/gate.hpp"
#include "http/client.hpp"
#include "http/server.hpp"
#include "http/tls.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {

inline constexpr std::string_view ssh_greeting = "SSH-2.0-stranger\r\n";

inline crypto::Ed25519Key key_of_letter(char letter) {
    return crypto::Ed25519Key{crypto::Secret(Bytes(crypto::Secret::size, letter))};
}

// A UUID whose last digits are the number.
std::string uuid_text(int number);
// The value of a member that is a string; empty when there is none.
std::string member_of(const std::string& json, const std::string& name);

// A TLS client of 127.0.0.1 that sends what it is told to.
class TlsSocket {
public:
    TlsSocket(std::uint16_t port, const Bytes& key_sha256, const std::string& source = "127.0.0.1");
    ~TlsSocket();
    TlsSocket(TlsSocket&& other) noexcept;
    TlsSocket& operator=(TlsSocket&&) = delete;

    void send(std::string_view bytes);
    std::string receive_until(std::string_view mark);  // what came before the end, at the end
    std::string receive_all();

private:
    void wait_for(const http::Transfer& transfer) const;
    bool fill();

    int socket_;
    http::TlsContext context_ = http::TlsContext::for_clients();
    std::unique_ptr<http::TlsSession> session_;
    std::string buffer_;
};

// Takes reports and answers with what it was told to.
class ServerDouble final : public http::Handler {
public:
    ServerDouble();

    void handle(http::Request request, http::Reply reply) override;
    std::string address() const;
    void answer(std::string orders);  // 200 with this body
    void refuse(int status);
    // Keys and nothing else, but for the members given.
    void order(const std::string& members = R"("relays":[],"cut":[],"drain":false)");
    std::vector<http::Request> requests() const;
    http::Request last() const;
    void do_before_answer(std::function<void()> work);  // once, when the next report has come

private:
    mutable std::mutex mutex_;
    std::vector<http::Request> requests_;
    int status_ = 200;
    std::string orders_;
    std::function<void()> meanwhile_;
    http::Server server_;  // last: the rest is there before the first report
};

struct DoorText {
    int number = 1;  // of its id
    int port = 0;    // from the first of the doors' ports on
    std::string kind = "ssh";
    std::int64_t rate_bps = 0;
    std::int64_t streams_max = 64;
};

struct TicketText {
    std::vector<DoorText> doors{DoorText{}};
    int machine = 1;
    int fence = 1;
    int serial = 1;
    std::optional<Duration> life{};  // 15 min
    std::string gate_id{};           // this gate's
    char machine_key = 'm';
    char server_key = 's';
    std::string key_id = "k1";
};

struct SignedText {
    std::string path = "/v1/link";
    std::string host{};   // the gate's
    std::string nonce{};  // a fresh one
    std::int64_t created_off = 0;
    std::string tag = "berth-agent";
    int machine = 1;
    char key = 'm';
};

// The machine's end of a link.
class LinkEnd {
public:
    explicit LinkEnd(TlsSocket socket) : socket_(std::move(socket)) {}

    int status();             // of the answer; read first
    std::string next_line();  // without its end; empty at the end of the link
    // The next line that is no ping.
    std::string next_word();
    std::string await_call();  // the call_id of the next call
    const std::string& id() const { return id_; }

private:
    TlsSocket socket_;
    std::string lines_;
    std::string id_;
    bool over_ = false;
};

// Nobody who waits is sent away because this machine is busy with something else.
inline gate::Timings patient() {
    gate::Timings timings;
    timings.silence_max = std::chrono::minutes(10);
    timings.wait_max = std::chrono::minutes(10);
    return timings;
}

class GateWorld {
public:
    struct Options {
        gate::Timings timings = patient();
        gate::LimitNumbers limits{};
    };
    GateWorld() : GateWorld(Options{}) {}
    explicit GateWorld(Options options);
    ~GateWorld();

    std::uint16_t door_port(int number = 0) const;
    std::uint16_t link_port() const;
    std::uint16_t call_port() const;
    gate::GateOptions gate_options() const;

    std::string ticket(const TicketText& text = {});
    std::string signed_request(const std::string& body, const SignedText& text = {});
    TlsSocket dial() const { return TlsSocket(link_port(), tls_key_); }
    // The status of the answer to these bytes at the link port.
    int status_of(const std::string& request) const;
    // A link that was given; the hello is read.
    LinkEnd link(const TicketText& text = {}, const std::string& source = "127.0.0.1");
    // The answer to a renewal.
    int renew(const LinkEnd& link, const TicketText& text);
    // The machine's answer to a call; it begins after the 101.
    support::RawSocket call(const std::string& call_id) const;
    static std::string call_request(const std::string& call_id);

    // The number of the last nonce is in none before.
    std::string fresh_nonce() { return "nonce-" + std::to_string(++nonces_); }
    std::string gate_id() const { return to_string(gate->identity().gate_id); }

    TemporaryFolder folder;
    ManualClock clock;
    SystemRandom random;
    http::CurlClient client;
    ServerDouble server;
    std::unique_ptr<gate::Gate> gate;

private:
    const Options options_;
    std::uint16_t first_port_;
    Bytes tls_key_;
    int nonces_ = 0;
};

// Who knocks, from an address of loopback that is its own.
support::RawSocket knock_from(const std::string& source, std::uint16_t port);

}  // namespace berth::test
