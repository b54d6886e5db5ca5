// Who may have a link: the machine that a ticket names, by its key in that ticket. There is no
// database behind it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "agent_protocol/gate_ticket.hpp"
#include "agent_protocol/used_nonces.hpp"
#include "gate/folder.hpp"
#include "gate/limits.hpp"
#include "gate/tally.hpp"
#include "http/message.hpp"

namespace berth::gate {

struct Refusal {
    int status;
    Refused why;
    std::string message;
};

class Tickets {
public:
    Tickets(const Folder& folder, const Identity& identity, const Clock& clock,
            const LimitNumbers& limits);

    // The ticket that a request shows, when everything about it is as it must be. A request is good
    // once. From any thread.
    std::variant<agent_protocol::Ticket, Refusal> check(const http::Request& request);

    // Those that the server names now; kept on disk. None at all is no list.
    void take_keys(const std::vector<agent_protocol::ServerKey>& keys);

private:
    bool is_ours(const std::string& authority) const;
    bool has_our_ports(const agent_protocol::Ticket& ticket) const;
    std::optional<Refusal> check_ticket(const agent_protocol::Ticket& ticket) const;
    std::shared_ptr<const agent_protocol::TicketKeys> keys();

    const Folder& folder_;
    const Identity& identity_;
    const Clock& clock_;
    agent_protocol::UsedNonces nonces_;
    std::mutex mutex_;
    Sources sources_;
    std::shared_ptr<const agent_protocol::TicketKeys> keys_;
};

}  // namespace berth::gate
