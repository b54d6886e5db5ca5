// Hosts without an open port. An agent asks the server for doors, which are ports of a gate; it
// keeps a link to that gate, is told there of everybody who knocks, and calls the gate back once
// for each. docs/agent-protocol.md tells the story; the ticket is in gate_ticket.hpp.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_protocol/qualification.hpp"
#include "agent_protocol/reach.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

inline constexpr std::size_t wanted_doors_max = 16;
inline constexpr std::size_t reported_doors_max = 65'536;
inline constexpr std::size_t line_bytes_max = 1'024;  // of one line of a link, its end included

inline constexpr Duration ticket_life = std::chrono::minutes(15);
inline constexpr Duration ticket_renewal = std::chrono::minutes(5);
inline constexpr Duration link_silence_max = std::chrono::seconds(60);  // then an agent gives it up
inline constexpr Duration call_life = std::chrono::seconds(10);
inline constexpr Duration report_every = std::chrono::seconds(5);
// A call that was let pass is told of for so long: less than the minute of which nobody asks.
inline constexpr Duration unanswered_told = std::chrono::seconds(45);
// An agent that had no link for so long is given doors at another gate.
inline constexpr Duration lost_link_max = std::chrono::seconds(90);

using GatePort = wire::Integer<1, 65'535>;
using DoorName = wire::Text<1, 64>;

// ---- Agent and server

struct WantedDoor {
    std::optional<JobId> job_id;
    std::optional<RunId> run_id;
    DoorName name;
    DoorKind kind = DoorKind::http;
};
BOOST_DESCRIBE_STRUCT(WantedDoor, (), (job_id, run_id, name, kind))
constexpr std::string_view wire_rules(const WantedDoor*) {
    return R"({"oneOf":[{"required":["job_id"]},{"required":["run_id"]}]})";
}
constexpr auto wire_docs(const WantedDoor*) {
    return std::to_array<wire::Doc>({
        {"job_id", "Of the job that is to be reached by it; left out for a test."},
        {"run_id", "Of the machine test that is to be reached by it; left out for a job.",
         wire::left_out},
        {"name", "As the endpoint is called in READY; ssh for the way in.", "openai"},
        {"kind", "What will be behind it. A door of a test is of kind test.", "http"},
    });
}

struct WantDoors {
    wire::Decimal fence;
    wire::Count lost_s;
    wire::List<WantedDoor, 0, wanted_doors_max> wanted;
};
BOOST_DESCRIBE_STRUCT(WantDoors, (), (fence, lost_s, wanted))
constexpr auto wire_docs(const WantDoors*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"lost_s",
         "For how many seconds it has wanted a link and had none; from 90 on it is given doors at "
         "another gate.",
         "0"},
        {"wanted",
         "The whole list: what is not in it any more is taken back, what is in it again stays."},
    });
}

struct GatePlace {
    GateId gate_id;
    std::string host;
    GatePort link_port;
    GatePort call_port;
    std::string tls_key_sha256;
};
BOOST_DESCRIBE_STRUCT(GatePlace, (), (gate_id, host, link_port, call_port, tls_key_sha256))
constexpr auto wire_docs(const GatePlace*) {
    return std::to_array<wire::Doc>({
        {"gate_id", "The gate."},
        {"host", "Its name or address.", "gate-1.example.com"},
        {"link_port", "Where it takes links, and calls too, by TLS.", "443"},
        {"call_port", "Where it takes calls by plain TCP.", "8443"},
        {"tls_key_sha256",
         "SHA-256 of its public key (SubjectPublicKeyInfo) in hex, which alone is trusted.",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    });
}

struct Door {
    DoorId door_id;
    std::string name;
    GatePort port;
};
BOOST_DESCRIBE_STRUCT(Door, (), (door_id, name, port))
constexpr auto wire_docs(const Door*) {
    return std::to_array<wire::Doc>({
        {"door_id", "What the gate calls it; it stays the same when the door moves."},
        {"name", "As it was wanted.", "openai"},
        {"port", "The port of the gate at which it is.", "20017"},
    });
}

struct DoorsGiven {
    wire::Nullable<GatePlace> gate;
    std::vector<Door> doors;
    std::string ticket;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(DoorsGiven, (), (gate, doors, ticket, expires_at))
constexpr auto wire_docs(const DoorsGiven*) {
    return std::to_array<wire::Doc>({
        {"gate", "Where the doors are, all of them at one; null when none is wanted."},
        {"doors", "In the order in which they were wanted."},
        {"ticket",
         "To be shown to the gate as it is: signed by the server's key. Empty when no door is "
         "wanted.",
         R"({"key_id":"9a51c0f66f1d0e9c","signature":"…","ticket":{}})"},
        {"expires_at", "Of the ticket. Ask again every five minutes."},
    });
}

// ---- Gate and agent: lines of a link

enum class LineKind {
    hello,
    call,
    ping,
    bye,
    unknown,  // of a later version: nothing to do
};
BOOST_DESCRIBE_ENUM(LineKind, hello, call, ping, bye, unknown)

enum class ByeReason {
    replaced,  // by another link of the same machine
    draining,  // the gate ends: come again, to the same place
    expired,   // the ticket
    refused,   // the ticket shows no door any more that is this machine's
    cut,       // the server said so
};
BOOST_DESCRIBE_ENUM(ByeReason, replaced, draining, expired, refused, cut)

struct LinkLine {
    LineKind kind = LineKind::ping;
    std::optional<LinkId> link_id = {};
    std::optional<CallId> call_id = {};
    std::optional<DoorId> door_id = {};
    std::optional<GatePort> call_port = {};
    std::optional<ByeReason> reason = {};
};
BOOST_DESCRIBE_STRUCT(LinkLine, (), (kind, link_id, call_id, door_id, call_port, reason))
constexpr auto wire_docs(const LinkLine*) {
    return std::to_array<wire::Doc>({
        {"kind", "What the line says; a kind that an agent does not know it passes over.", "call"},
        {"link_id", "Of hello: to be named when the ticket is renewed."},
        {"call_id", "Of call: to be dialled within 10 s, once."},
        {"door_id", "Of call: at which somebody knocks."},
        {"call_port",
         "Of call: where the gate takes this call by plain TCP, when that is not the call_port of "
         "the gate.",
         "20001"},
        {"reason", "Of bye: why the link ends.", "draining"},
    });
}

// One line with its end.
std::string write_line(const LinkLine& line);
// A line without its end. Empty when it is no line of ours: not an object with a kind, or without
// what its kind needs. A reason of bye that is not known is left out.
std::optional<LinkLine> read_line(std::string_view text);

// ---- Gate and server

struct DoorReport {
    DoorId door_id;
    bool linked = false;
    wire::Count bytes_in;
    wire::Count bytes_out;
    wire::Count streams;
    std::optional<wire::Count> unanswered = {};
};
BOOST_DESCRIBE_STRUCT(DoorReport, (), (door_id, linked, bytes_in, bytes_out, streams, unanswered))
constexpr auto wire_docs(const DoorReport*) {
    return std::to_array<wire::Doc>({
        {"door_id", "The door."},
        {"linked", "Whether its machine has a link, so that calls get through.", "true"},
        {"bytes_in", "From who knocked to the machine, since the gate started.", "18230"},
        {"bytes_out", "From the machine to who knocked, since the gate started.", "918230"},
        {"streams", "How many are open now.", "2"},
        {"unanswered",
         "How many calls its machine let pass since it answered one, the last of them within "
         "45 s; left out when there is none. Such a door counts as not carried.",
         "1"},
    });
}

struct GateReport {
    wire::Text<1, 64> boot_id;
    Time started_at;
    bool draining = false;
    wire::List<DoorReport, 0, reported_doors_max> doors;
};
BOOST_DESCRIBE_STRUCT(GateReport, (), (boot_id, started_at, draining, doors))
constexpr auto wire_docs(const GateReport*) {
    return std::to_array<wire::Doc>({
        {"boot_id", "Of this process; its counters begin with it.",
         "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
        {"started_at", "When it started; of two processes of one gate the older one drains."},
        {"draining", "Whether it takes no links any more.", "false"},
        {"doors", "Every door that it holds or has carried anything for."},
    });
}

struct ServerKey {
    std::string key_id;
    std::string public_key;
};
BOOST_DESCRIBE_STRUCT(ServerKey, (), (key_id, public_key))
constexpr auto wire_docs(const ServerKey*) {
    return std::to_array<wire::Doc>({
        {"key_id", "What tickets call it.", "9a51c0f66f1d0e9c"},
        {"public_key", "Ed25519, base64 of its 32 bytes.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
    });
}

struct GateOrders {
    std::vector<ServerKey> keys;
    std::vector<std::string> relays;
    std::vector<DoorId> cut;
    bool drain = false;
};
BOOST_DESCRIBE_STRUCT(GateOrders, (), (keys, relays, cut, drain))
constexpr auto wire_docs(const GateOrders*) {
    return std::to_array<wire::Doc>({
        {"keys", "Who may sign tickets; kept on disk, for the time without a server."},
        {"relays", "Addresses of the server's own, which limits by source leave alone.",
         "203.0.113.9"},
        {"cut",
         "Doors that are nobody's any more, or elsewhere: to be closed, with their streams."},
        {"drain", "Whether this process shall take no links any more and end.", "false"},
    });
}

}  // namespace berth::agent_protocol
