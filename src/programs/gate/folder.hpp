// A gate's folder, 0700: who it is, its two keys, and the server's keys for the time without a
// server. Two processes of one gate, an older and a newer, may use it at the same time.
#pragma once

#include <string>

#include "agent_protocol/gate.hpp"
#include "agent_protocol/gate_ticket.hpp"
#include "crypto/ed25519.hpp"
#include "wire/wire.hpp"

namespace berth::gate {

using agent_protocol::GateId;

struct Identity {
    wire::Constant<1> format;
    GateId gate_id;
    wire::Text<1, 253> host;  // what renters and agents dial
    agent_protocol::GatePort link_port;
    agent_protocol::GatePort call_port;
    agent_protocol::GatePort ports_from;
    agent_protocol::GatePort ports_to;
    std::string seed;  // hex; of the key that reports are signed with
};
BOOST_DESCRIBE_STRUCT(Identity, (),
                      (format, gate_id, host, link_port, call_port, ports_from, ports_to, seed))

struct Range {
    std::int64_t from = 20'000;
    std::int64_t to = 32'767;
};
// "20000-32767". Throws std::invalid_argument.
Range parse_range(const std::string& text);

class Folder {
public:
    explicit Folder(std::string path) : path_(std::move(path)) {}

    struct NewGate {
        std::string host;
        std::int64_t link_port = 443;
        std::int64_t call_port = 8443;
        Range ports{};
    };
    // Makes the folder and what is not in it yet. Throws std::invalid_argument when it is another
    // gate's already.
    Identity init(const NewGate& gate, Time now, Random& random) const;
    // Throws std::invalid_argument when there is none, or it is damaged.
    Identity identity() const;
    Bytes make_tls() const;  // gives the SHA-256 of its public key

    std::string certificate_file() const { return path_ + "/tls.crt"; }
    std::string tls_key_file() const { return path_ + "/tls.key"; }

    // The server's keys as it told them last; none when there is no such file, or it is damaged.
    agent_protocol::TicketKeys server_keys() const;
    void keep_server_keys(const std::vector<agent_protocol::ServerKey>& keys) const;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Those that are keys.
agent_protocol::TicketKeys read_keys(const std::vector<agent_protocol::ServerKey>& keys);
crypto::Ed25519Key key_of(const Identity& identity);
// What the operator says to the server.
std::string add_command(const Identity& identity, std::string_view tls_key_sha256);

}  // namespace berth::gate
