// All SQL of tickets.
#pragma once

#include "db/migrate.hpp"
#include "tickets/types.hpp"

namespace berth::tickets {

struct TicketRow {
    TicketId ticket_id;
    AccountId account_id;
    std::string category;
    std::string text;
    std::optional<JobId> job_id = {};
    std::optional<std::string> payment_reference = {};
    TicketState state = TicketState::open;
    std::int64_t messages = 0;
    Time created_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(TicketRow, (),
                      (ticket_id, account_id, category, text, job_id, payment_reference, state,
                       messages, created_at, updated_at))

void add_ticket(db::Transaction& tx, const TicketRow& ticket);
std::optional<TicketRow> find_ticket(db::Transaction& tx, TicketId id);

struct TicketsWanted {
    std::optional<AccountId> account = {};  // none: everybody's
    std::optional<TicketState> state = {};
    std::optional<TicketId> before = {};
};
// Newest first.
std::vector<TicketRow> list_tickets(db::Transaction& tx, const TicketsWanted& wanted,
                                    std::int64_t rows_max);

struct MessageRow {
    MessageId message_id;
    TicketId ticket_id;
    AccountId account_id;  // who wrote it
    Author author = Author::owner;
    std::string text;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(MessageRow, (), (message_id, ticket_id, account_id, author, text, created_at))
// False, and nothing happens, when the ticket is closed or has as many messages as it can.
bool add_message(db::Transaction& tx, const MessageRow& message, TicketState next);
std::vector<MessageRow> list_messages(db::Transaction& tx, TicketId ticket);

// True for the one caller that closes it.
bool close_ticket(db::Transaction& tx, TicketId id, Time now);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::tickets
