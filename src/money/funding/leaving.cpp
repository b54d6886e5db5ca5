#include "funding/leaving.hpp"

namespace berth::funding {
namespace {

constexpr std::string_view waiting_claims_sql =
    "SELECT COUNT(*) FROM pending_claims p JOIN funding_intents i ON i.intent_id = p.intent_id "
    "WHERE i.account_id = $1";
constexpr std::string_view cancel_intents_sql =
    "UPDATE funding_intents SET state = 'CANCELLED' "
    "WHERE account_id = $1 AND state IN ('OPEN', 'EXCEPTION')";

}  // namespace

std::int64_t count_waiting_claims(db::Transaction& tx, AccountId account) {
    return tx.fetch_value<std::int64_t>(waiting_claims_sql, account).value();
}

void cancel_intents(db::Transaction& tx, AccountId account) { tx.run(cancel_intents_sql, account); }

}  // namespace berth::funding
