#include "agent_protocol/gate_ticket.hpp"

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "base/check.hpp"
#include "wire/open.hpp"

namespace berth::agent_protocol {
namespace {

struct SignedTicket {
    std::string key_id;
    std::string signature;
    wire::Object ticket;
};
BOOST_DESCRIBE_STRUCT(SignedTicket, (), (key_id, signature, ticket))

// No command is ever signed over such a beginning, and no ticket without it.
std::string ticket_base(std::string_view canonical_ticket) {
    return "berth-gate-ticket\n" + std::string(canonical_ticket);
}

}  // namespace

std::string write_ticket(const Ticket& ticket, std::string_view key_id,
                         const crypto::Ed25519Key& key) {
    auto inner = wire::canonical(wire::encode(ticket));
    require(inner.has_value(), "what we encode is JSON");
    SignedTicket whole{.key_id = std::string(key_id),
                       .signature = to_base64(key.sign(ticket_base(*inner))),
                       .ticket = {std::move(*inner)}};
    auto text = wire::canonical(wire::encode(whole));
    require(text.has_value(), "what we encode is JSON");
    return std::move(*text);
}

std::string_view describe(TicketFault fault) {
    switch (fault) {
        case TicketFault::malformed: return "this is no ticket of the server, letter by letter";
        case TicketFault::unknown_key:
            return "the ticket is signed by a key that is not known here";
        case TicketFault::signature: return "the ticket's signature does not hold";
    }
    return "the ticket is not good";
}

TicketRead read_ticket(std::string_view text, const TicketKeys& keys) {
    TicketRead read;
    const auto fail = [&](TicketFault fault) {
        read.fault = fault;
        return read;
    };
    if (text.size() > ticket_bytes_max || wire::canonical(text) != text)
        return fail(TicketFault::malformed);
    const auto whole = wire::read_known<SignedTicket>(text);
    if (!whole) return fail(TicketFault::malformed);
    const auto key = keys.find(whole->key_id);
    if (key == keys.end()) return fail(TicketFault::unknown_key);
    const auto inner = wire::canonical(whole->ticket.text);
    const auto signature = from_base64(whole->signature);
    if (!inner || !signature || !key->second.verify(ticket_base(*inner), *signature))
        return fail(TicketFault::signature);
    // A gate may be older than the server: what it does not know of a ticket it passes over.
    auto ticket = wire::read_known<Ticket>(*inner);
    if (!ticket) return fail(TicketFault::malformed);
    const auto machine_key = parse_key(ticket->public_key);
    if (!machine_key) return fail(TicketFault::malformed);
    read.ticket = std::move(*ticket);
    read.machine_key = *machine_key;
    return read;
}

}  // namespace berth::agent_protocol
