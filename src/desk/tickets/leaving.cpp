#include "tickets/leaving.hpp"

namespace berth::tickets {
namespace {

constexpr std::string_view forget_tickets_sql =
    "UPDATE tickets SET category = 'erased', text = 'erased', payment_reference = NULL, "
    "state = 'closed' WHERE account_id = $1";
constexpr std::string_view forget_messages_sql =
    "UPDATE ticket_messages SET text = 'erased' WHERE ticket_id IN "
    "(SELECT ticket_id FROM tickets WHERE account_id = $1)";

}  // namespace

void forget_words(db::Transaction& tx, AccountId account) {
    tx.run(forget_messages_sql, account);
    tx.run(forget_tickets_sql, account);
}

}  // namespace berth::tickets
