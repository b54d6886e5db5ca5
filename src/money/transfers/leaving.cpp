#include "transfers/leaving.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view call_off_parked_sql =
    "UPDATE transfers SET state = 'CANCELLED', reason = 'the account was closed', "
    "updated_at = $2 WHERE account_id = $1 AND state = 'AWAITING_EMAIL_CONFIRMATION'";
constexpr std::string_view delete_links_sql = "DELETE FROM confirmations WHERE account_id = $1";
constexpr std::string_view delete_waiting_addresses_sql =
    "DELETE FROM withdrawal_addresses "
    "WHERE account_id = $1 AND state = 'AWAITING_EMAIL_CONFIRMATION'";

}  // namespace

void call_off_parked(db::Transaction& tx, AccountId account, Time now) {
    tx.run(call_off_parked_sql, account, now);
    tx.run(delete_links_sql, account);
    tx.run(delete_waiting_addresses_sql, account);
}

}  // namespace berth::transfers
