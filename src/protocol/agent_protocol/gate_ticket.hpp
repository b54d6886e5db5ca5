// What a machine shows to a gate: the doors that the server gave it. A gate knows nothing but the
// server's public keys, and needs no database.
//
//     {"key_id":"9a51c0f66f1d0e9c","signature":"<base64>","ticket":{"doors":[…],…}}
//
// One line of canonical JSON (RFC 8785); the signature is Ed25519 by the server's command key over
// "berth-gate-ticket\n" and the canonical JSON of `ticket`.
#pragma once

#include <map>

#include "agent_protocol/gate.hpp"
#include "crypto/ed25519.hpp"

namespace berth::agent_protocol {

inline constexpr std::size_t ticket_bytes_max = 8 * 1024;

struct TicketDoor {
    DoorId door_id;
    GatePort port;
    DoorKind kind = DoorKind::http;
    wire::Count rate_bps;
    wire::Count streams_max;
};
BOOST_DESCRIBE_STRUCT(TicketDoor, (), (door_id, port, kind, rate_bps, streams_max))
constexpr auto wire_docs(const TicketDoor*) {
    return std::to_array<wire::Doc>({
        {"door_id", "The door."},
        {"port", "At which port of the gate.", "20017"},
        {"kind", "What is behind it."},
        {"rate_bps", "Bits a second, each way, for all of its streams together; 0: no limit.", "0"},
        {"streams_max", "How many streams may be open at once.", "512"},
    });
}

struct Ticket {
    GateId gate_id;
    MachineId machine_id;
    std::string public_key;
    wire::Decimal fence;
    wire::Decimal serial;
    wire::List<TicketDoor, 0, wanted_doors_max> doors;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Ticket, (),
                      (gate_id, machine_id, public_key, fence, serial, doors, expires_at))
constexpr auto wire_docs(const Ticket*) {
    return std::to_array<wire::Doc>({
        {"gate_id", "The gate that may take it; every other refuses it."},
        {"machine_id", "Who may show it."},
        {"public_key", "The machine's Ed25519 key (base64), by which its requests are checked.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
        {"fence", "The machine's when it was written.", "3"},
        {"serial", "One more with each ticket of a machine; the higher of two counts.", "8"},
        {"doors", "What the machine has, whole."},
        {"expires_at", "No calls after this."},
    });
}

std::string write_ticket(const Ticket& ticket, std::string_view key_id,
                         const crypto::Ed25519Key& key);

enum class TicketFault {
    malformed,    // no ticket at all, or not in its one spelling
    unknown_key,  // signed by a key that is not among ours
    signature,    // the signature is not by that key over this ticket
};
std::string_view describe(TicketFault fault);  // a sentence for the one who showed it

using TicketKeys = std::map<std::string, crypto::Ed25519PublicKey, std::less<>>;  // by key_id

struct TicketRead {
    std::optional<TicketFault> fault;
    Ticket ticket;
    crypto::Ed25519PublicKey machine_key{};  // its public_key, read
};
// Whose gate it is for, and whether it has expired, is for the caller to judge.
TicketRead read_ticket(std::string_view text, const TicketKeys& keys);

}  // namespace berth::agent_protocol
