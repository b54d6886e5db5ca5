#include "recovery/leaving.hpp"

#include "accounts/mailbox.hpp"

namespace berth::recovery {
namespace {

constexpr std::string_view call_off_sql =
    "UPDATE recoveries SET state = 'cancelled', ended_at = $2, "
    "end_reason = 'the account was closed' WHERE account_id = $1 AND state = 'waiting'";
// The kind of a recovery says whether it has an address, so that it gets one that nobody has.
constexpr std::string_view forget_sql =
    "UPDATE recoveries SET email = CASE WHEN email IS NULL THEN NULL ELSE 'erased@erased.invalid' "
    "END, reason = 'erased', evidence = '[]', "
    "end_reason = CASE WHEN end_reason IS NULL THEN NULL ELSE 'erased' END WHERE account_id = $1";

constexpr std::string_view forget_notices_sql =
    "DELETE FROM recovery_notices WHERE recovery_id IN "
    "(SELECT recovery_id FROM recoveries WHERE account_id = $1)";

}  // namespace

void end_recoveries(db::Transaction& tx, AccountId account, Time now) {
    tx.run(call_off_sql, account, now);
    accounts::end_promises(tx, account);
}

void forget_account(db::Transaction& tx, AccountId account) {
    tx.run(forget_notices_sql, account);
    tx.run(forget_sql, account);
}

}  // namespace berth::recovery
