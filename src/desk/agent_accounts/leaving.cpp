#include "agent_accounts/leaving.hpp"

namespace berth::agent_accounts {
namespace {

const db::Query<KnownProfile> find_profile_sql(
    "SELECT {} FROM agent_profiles WHERE account_id = $1");
constexpr std::string_view forget_profile_sql = "DELETE FROM agent_profiles WHERE account_id = $1";

}  // namespace

std::optional<KnownProfile> find_profile(db::Transaction& tx, AccountId account) {
    return tx.fetch_one(find_profile_sql, account);
}

void forget_profile(db::Transaction& tx, AccountId account) { tx.run(forget_profile_sql, account); }

}  // namespace berth::agent_accounts
