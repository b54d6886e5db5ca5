#include "tickets/store.hpp"

namespace berth::tickets {
namespace {

constexpr db::Migration history[] = {
    {.feature = "tickets",
     .number = 1,
     .sql = "CREATE TABLE tickets ("
            "  ticket_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  category @text NOT NULL,"  // this and every text without secrets
            "  text @text NOT NULL,"
            "  job_id @id,"
            "  payment_reference @text,"
            "  state @text NOT NULL CHECK (state IN ('open', 'answered', 'closed')),"
            "  messages @int NOT NULL,"
            "  created_at @int NOT NULL,"
            "  updated_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX tickets_by_account ON tickets (account_id, ticket_id);"

            // Append-only.
            "CREATE TABLE ticket_messages ("
            "  message_id @id NOT NULL PRIMARY KEY,"
            "  ticket_id @id NOT NULL,"
            "  account_id @id NOT NULL,"
            "  author @text NOT NULL CHECK (author IN ('owner', 'support')),"
            "  text @text NOT NULL,"
            "  created_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX ticket_messages_by_ticket ON ticket_messages (ticket_id, message_id);"},
    // Those that wait for support, among all there were.
    {.feature = "tickets",
     .number = 2,
     .sql = "CREATE INDEX tickets_waiting ON tickets (updated_at) WHERE state = 'open';"},
};

const db::Query<TicketRow> add_ticket_sql("INSERT INTO tickets ({}) VALUES ({$})");
const db::Query<TicketRow> find_ticket_sql("SELECT {} FROM tickets WHERE ticket_id = $1");
const db::Query<TicketRow> list_tickets_sql(
    "SELECT {} FROM tickets WHERE (ticket_id < $1 OR $1 IS NULL) "
    "AND (state = $2 OR $2 IS NULL) ORDER BY ticket_id DESC LIMIT $3");
const db::Query<TicketRow> list_own_tickets_sql(
    "SELECT {} FROM tickets WHERE account_id = $4 AND (ticket_id < $1 OR $1 IS NULL) "
    "AND (state = $2 OR $2 IS NULL) ORDER BY ticket_id DESC LIMIT $3");

// Also counts: two that come at once cannot both be the last one.
constexpr std::string_view touch_ticket_sql =
    "UPDATE tickets SET state = $2, messages = messages + 1, updated_at = $3 "
    "WHERE ticket_id = $1 AND state <> 'closed' AND messages < $4";
constexpr std::string_view close_ticket_sql =
    "UPDATE tickets SET state = 'closed', updated_at = $2 "
    "WHERE ticket_id = $1 AND state <> 'closed'";
const db::Query<MessageRow> add_message_sql("INSERT INTO ticket_messages ({}) VALUES ({$})");
const db::Query<MessageRow> list_messages_sql(
    "SELECT {} FROM ticket_messages WHERE ticket_id = $1 ORDER BY message_id LIMIT $2");

}  // namespace

const std::span<const db::Migration> migrations = history;

void add_ticket(db::Transaction& tx, const TicketRow& ticket) { tx.insert(add_ticket_sql, ticket); }

std::optional<TicketRow> find_ticket(db::Transaction& tx, TicketId id) {
    return tx.fetch_one(find_ticket_sql, id);
}

std::vector<TicketRow> list_tickets(db::Transaction& tx, const TicketsWanted& wanted,
                                    std::int64_t rows_max) {
    return wanted.account ? tx.fetch(list_own_tickets_sql, wanted.before, wanted.state, rows_max,
                                     *wanted.account)
                          : tx.fetch(list_tickets_sql, wanted.before, wanted.state, rows_max);
}

bool add_message(db::Transaction& tx, const MessageRow& message, TicketState next) {
    const auto touched =
        tx.run(touch_ticket_sql, message.ticket_id, next, message.created_at, messages_max);
    if (touched.affected != 1) return false;
    tx.insert(add_message_sql, message);
    return true;
}

std::vector<MessageRow> list_messages(db::Transaction& tx, TicketId ticket) {
    return tx.fetch(list_messages_sql, ticket, messages_max);
}

bool close_ticket(db::Transaction& tx, TicketId id, Time now) {
    return tx.run(close_ticket_sql, id, now).affected == 1;
}

}  // namespace berth::tickets
