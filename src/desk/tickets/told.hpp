// What owners are told of their tickets, and operators of new ones. What was written is read in the
// ticket.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "tickets/types.hpp"

namespace berth::tickets {

struct TicketFacts {
    TicketState state = TicketState::open;
};
BOOST_DESCRIBE_STRUCT(TicketFacts, (), (state))
constexpr auto wire_docs(const TicketFacts*) {
    return std::to_array<wire::Doc>({{"state", "The one that it came into.", "answered"}});
}

inline constexpr events::Kind<TicketFacts> ticket_answered{
    "ticket.answered",         "ticket",           events::Audience::both, "Support has answered.",
    R"({"state":"answered"})", events::Mail::apart};
inline constexpr events::Kind<TicketFacts> ticket_closed{
    "ticket.closed",         "ticket",           events::Audience::both, "Support has closed it.",
    R"({"state":"closed"})", events::Mail::apart};
inline constexpr events::Kind<TicketFacts> operations_ticket_opened{
    "operations.ticket_opened", "ticket", events::Audience::operators,
    "A ticket was opened, or its owner has written again.", R"({"state":"open"})"};

inline std::vector<events::DeclaredKind> event_kinds() {
    return {ticket_answered, ticket_closed, operations_ticket_opened};
}

}  // namespace berth::tickets
