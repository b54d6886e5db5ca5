// The routes of tickets, one declaration each.
#include "tickets/desk.hpp"
#include "tickets/settings.hpp"

namespace berth::tickets {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Query;
using api::StepUp;
using api::Work;

namespace {

const api::RateRule ticket_rate{"tickets", api::rate_setting<&Settings::rate_tickets_per_hour>,
                                std::chrono::hours(1), api::RateRule::By::account};
const api::RateRule message_rate{"ticket messages",
                                 api::rate_setting<&Settings::rate_ticket_messages_per_hour>,
                                 std::chrono::hours(1), api::RateRule::By::account};

}  // namespace

void Desk::add_routes(api::Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/tickets",
                .name = "create_ticket",
                .group = "support",
                .summary = "Writes to support; secrets in the text are taken out.",
                .work = Work::write,
                .idempotent = true,
                .status = 201,
                .errors = {{Code::not_found, "the account has no such job"}},
                .rate = &ticket_rate},
               [this](Call& call, const Body<NewTicket>& body) { return create(call, *body); });
    router.add({.method = "GET",
                .path = "/api/v1/tickets",
                .name = "list_tickets",
                .group = "support",
                .summary = "The account's tickets, newest first; an admin's are everybody's.",
                .errors = {{Code::forbidden, "the tickets are another account's"}}},
               [this](Call& call, const Query<TicketsQuery>& query) { return list(call, *query); });
    router.add({.method = "GET",
                .path = "/api/v1/tickets/{id}",
                .name = "show_ticket",
                .group = "support",
                .summary = "One ticket with everything written to it.",
                .errors = {Code::not_found}},
               [this](Call& call, const Path<TicketPath>& path) { return show(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/tickets/{id}/messages",
                .name = "write_to_ticket",
                .group = "support",
                .summary = "Adds a message; an admin's is the answer.",
                .work = Work::write,
                .idempotent = true,
                .status = 201,
                .errors = {Code::not_found,
                           {Code::conflict, "the ticket is closed"},
                           {Code::conflict, "it has as many messages as it can"}},
                .rate = &message_rate},
               [this](Call& call, const Path<TicketPath>& path, const Body<NewMessage>& body) {
                   return write(call, *path, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/tickets/{id}/close",
                .name = "close_ticket",
                .group = "admin",
                .summary = "Closes a ticket for good.",
                .access = Access::support,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {Code::not_found, {Code::conflict, "it is closed already"}}},
               [this](Call& call, const Path<TicketPath>& path, const Body<CloseTicket>& body) {
                   return close(call, *path, *body);
               });
}

}  // namespace berth::tickets
