#include "admin/leaving.hpp"

namespace berth::admin {
namespace {

// By the open disputes, which are few.
constexpr std::string_view open_disputes_sql =
    "SELECT COUNT(*) FROM disputes d JOIN ledger_jobs j ON j.job_id = d.job_id "
    "WHERE d.state = 'open' AND (j.host_id = $1 OR j.renter_id = $1)";
constexpr std::string_view forget_notes_sql = "DELETE FROM account_notes WHERE account_id = $1";

}  // namespace

bool has_open_dispute(db::Transaction& tx, AccountId account) {
    return tx.fetch_value<std::int64_t>(open_disputes_sql, account).value() > 0;
}

void forget_notes(db::Transaction& tx, AccountId account) { tx.run(forget_notes_sql, account); }

}  // namespace berth::admin
