// What is shown of gates.
#pragma once

#include "agent_protocol/gate.hpp"
#include "machines/types.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::gates {

using agent_protocol::GateId;
using agent_protocol::GatePort;
using machines::Continent;

// To everybody.
struct PublicGate {
    GateId gate_id;
    std::string host;
    wire::Nullable<Continent> continent;
    GatePort link_port;
    GatePort call_port;
    std::string tls_key_sha256;
    bool live = false;
    bool draining = false;
};
BOOST_DESCRIBE_STRUCT(PublicGate, (),
                      (gate_id, host, continent, link_port, call_port, tls_key_sha256, live,
                       draining))
constexpr auto wire_docs(const PublicGate*) {
    return std::to_array<wire::Doc>({
        {"gate_id", "The gate."},
        {"host", "Its name or address.", "gate-1.example.com"},
        {"continent", "Where it stands; null when that is not known.", "EU"},
        {"link_port", "Where host agents keep their link to it, by TLS.", "443"},
        {"call_port", "Where they call it by plain TCP.", "8443"},
        {"tls_key_sha256", "SHA-256 of its public key (SubjectPublicKeyInfo) in hex.",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"live", "Whether it was heard in the last 15 seconds and takes new doors.", "true"},
        {"draining", "Whether it takes none any more, while those that it has go on.", "false"},
    });
}

struct PublicGates {
    std::vector<PublicGate> items;
};
BOOST_DESCRIBE_STRUCT(PublicGates, (), (items))
constexpr auto wire_docs(const PublicGates*) {
    return std::to_array<wire::Doc>({{"items", "All gates."}});
}

// To operators.
struct AdminGate {
    GateId gate_id;
    std::string host;
    std::string dial_host;
    wire::Nullable<Continent> continent;
    GatePort link_port;
    GatePort call_port;
    GatePort ports_from;
    GatePort ports_to;
    bool live = false;
    bool draining = false;
    wire::Nullable<Time> heard_at;
    wire::Nullable<wire::Count> silent_s;
    wire::Nullable<Time> drained_at;
    Time added_at;
    wire::Count doors;
    wire::Count ports_used_percent;
    wire::Count streams;
    wire::Decimal bytes_in;
    wire::Decimal bytes_out;
};
BOOST_DESCRIBE_STRUCT(AdminGate, (),
                      (gate_id, host, dial_host, continent, link_port, call_port, ports_from,
                       ports_to, live, draining, heard_at, silent_s, drained_at, added_at, doors,
                       ports_used_percent, streams, bytes_in, bytes_out))
constexpr auto wire_docs(const AdminGate*) {
    return std::to_array<wire::Doc>({
        {"gate_id", "The gate."},
        {"host", "Its name or address, as renters see it.", "gate-1.example.com"},
        {"dial_host", "The address at which the server dials its doors.", "203.0.113.20"},
        {"continent", "Where it stands; null when that was not said.", "EU"},
        {"link_port", "Where host agents keep their link to it, by TLS.", "443"},
        {"call_port", "Where they call it by plain TCP.", "8443"},
        {"ports_from", "The first port of its doors.", "20000"},
        {"ports_to", "The last one.", "32767"},
        {"live", "Whether it was heard in the last 15 seconds and takes new doors.", "true"},
        {"draining", "Whether it takes none any more, by its own word or an operator's.", "false"},
        {"heard_at", "When it last reported; null: never."},
        {"silent_s", "For how many seconds it has not; null: it never did.", "3"},
        {"drained_at", "When an operator said that it gets no new doors; null: nobody did.",
         "null"},
        {"added_at", "When an operator added it."},
        {"doors", "How many of its ports are doors now.", "812"},
        {"ports_used_percent", "That, of all its ports.", "6"},
        {"streams", "How many connections it carries now.", "2140"},
        {"bytes_in", "What it has carried to machines.", "918230551"},
        {"bytes_out", "What it has carried from machines.", "88123456789"},
    });
}

struct AdminGates {
    std::vector<AdminGate> items;
};
BOOST_DESCRIBE_STRUCT(AdminGates, (), (items))
constexpr auto wire_docs(const AdminGates*) {
    return std::to_array<wire::Doc>({{"items", "All gates that were not removed."}});
}

}  // namespace berth::gates
