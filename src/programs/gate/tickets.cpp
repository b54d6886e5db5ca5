#include "gate/tickets.hpp"

#include <fmt/format.h>

#include <chrono>

#include "agent_protocol/signature.hpp"
#include "base/letters.hpp"
#include "base/log.hpp"

namespace berth::gate {
namespace {

using agent_protocol::SignatureFault;

Time steady_now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return Time{std::chrono::duration_cast<Duration>(since).count()};
}

Refusal unsigned_for(SignatureFault fault) {
    return {401, Refused::signature, std::string(agent_protocol::describe(fault))};
}

}  // namespace

Tickets::Tickets(const Folder& folder, const Identity& identity, const Clock& clock,
                 const LimitNumbers& limits)
    : folder_(folder),
      identity_(identity),
      clock_(clock),
      sources_(limits.links_of_source),
      keys_(std::make_shared<const agent_protocol::TicketKeys>(folder.server_keys())) {}

// What costs little comes first, the two signatures late, and the nonce last of all: only the
// machine itself can use up its nonces.
std::variant<agent_protocol::Ticket, Refusal> Tickets::check(const http::Request& request) {
    if (const auto source = http::parse_address(request.client_address)) {
        const std::lock_guard lock(mutex_);
        if (!sources_.take(*source, steady_now()))
            return Refusal{429, Refused::link_pace, "too many links from this address; wait"};
    }
    const auto parsed = agent_protocol::parse_signature(request.headers);
    if (parsed.fault) return unsigned_for(*parsed.fault);
    const agent_protocol::RequestSignature& signature = parsed.value;
    const Time now = clock_.now();
    if (!agent_protocol::is_timely(signature, now)) return unsigned_for(SignatureFault::created);
    const std::string authority = agent_protocol::authority_of(request);
    if (!is_ours(authority))
        return Refusal{421, Refused::authority, "the Host field does not name this gate"};
    if (!agent_protocol::has_digest(signature, request.body))
        return unsigned_for(SignatureFault::digest);

    const agent_protocol::TicketRead read = agent_protocol::read_ticket(request.body, *keys());
    if (read.fault)
        return Refusal{403, Refused::ticket, std::string(agent_protocol::describe(*read.fault))};
    if (const auto refusal = check_ticket(read.ticket)) return *refusal;
    if (signature.key_id != read.ticket.machine_id.uuid)
        return Refusal{403, Refused::ticket, "the ticket is another machine's"};
    if (!agent_protocol::verify(signature, agent_protocol::parts_of(request, authority),
                                read.machine_key))
        return unsigned_for(SignatureFault::signature);
    if (!nonces_.use(signature.key_id, signature.nonce, now))
        return Refusal{401, Refused::replayed, "the signature's nonce was used before"};
    return read.ticket;
}

std::optional<Refusal> Tickets::check_ticket(const agent_protocol::Ticket& ticket) const {
    if (ticket.gate_id != identity_.gate_id)
        return Refusal{403, Refused::ticket, "the ticket is for another gate"};
    if (!has_our_ports(ticket))
        return Refusal{403, Refused::ticket, "the ticket has a port that is none of this gate's"};
    if (ticket.expires_at <= clock_.now())
        return Refusal{403, Refused::expired, "the ticket has expired: ask for doors again"};
    return std::nullopt;
}

bool Tickets::has_our_ports(const agent_protocol::Ticket& ticket) const {
    for (const agent_protocol::TicketDoor& door : ticket.doors.value)
        if (door.port.value < identity_.ports_from.value ||
            door.port.value > identity_.ports_to.value)
            return false;
    return true;
}

// The name and port that the server tells of this gate; a usual port may be left out.
bool Tickets::is_ours(const std::string& authority) const {
    std::string host;
    for (const char c : identity_.host.value) host += to_lower(c);
    if (host.find(':') != host.npos) host = "[" + host + "]";
    return authority == fmt::format("{}:{}", host, identity_.link_port.value) ||
           (identity_.link_port.value == 443 && authority == host);
}

std::shared_ptr<const agent_protocol::TicketKeys> Tickets::keys() {
    const std::lock_guard lock(mutex_);
    return keys_;
}

void Tickets::take_keys(const std::vector<agent_protocol::ServerKey>& told) {
    auto fresh = std::make_shared<const agent_protocol::TicketKeys>(read_keys(told));
    if (fresh->empty()) return;
    {
        const std::lock_guard lock(mutex_);
        if (*fresh == *keys_) return;
        keys_ = fresh;
    }
    log(Level::info, "server_keys_taken", {{"keys", fresh->size()}});
    try {
        folder_.keep_server_keys(told);
    } catch (const std::exception& error) {  // they are told again with the next start
        log(Level::error, "server_keys_not_kept", {{"reason", error.what()}});
    }
}

}  // namespace berth::gate
