#include "agent_accounts/store.hpp"

#include "accounts/pages.hpp"
#include "agent_accounts/agents.hpp"

namespace berth::agent_accounts {
namespace {

constexpr std::string_view put_profile_sql =
    "INSERT INTO agent_profiles (account_id, name, vendor, model, operator_contact, homepage, "
    "terms_version, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
    "ON CONFLICT (account_id) DO UPDATE SET name = $2, vendor = $3, model = $4, "
    "operator_contact = $5, homepage = $6, terms_version = $7, updated_at = $8";

constexpr std::string_view find_contact_sql =
    "SELECT operator_contact FROM agent_profiles WHERE account_id = $1 "
    "AND operator_contact IS NOT NULL";

template <class Text>
std::optional<std::string> plain(const std::optional<Text>& text) {
    return text ? std::optional(text->value) : std::nullopt;
}

constexpr db::Migration history[] = {
    {.feature = "agents",
     .number = 1,
     .sql = "CREATE TABLE agent_profiles ("
            "  account_id @id NOT NULL PRIMARY KEY,"
            "  name @text NOT NULL,"
            "  vendor @text NOT NULL,"
            "  model @text,"
            "  operator_contact @text,"
            "  homepage @text,"
            "  terms_version @text NOT NULL,"
            "  updated_at @int NOT NULL"
            ") @strict;",
     .formerly = 6},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

void put_profile(db::Transaction& tx, AccountId account, const AgentProfile& profile, Time now) {
    tx.run(put_profile_sql, account, profile.name.value, profile.vendor.value, plain(profile.model),
           plain(profile.operator_contact), plain(profile.homepage), accounts::terms_version, now);
}

std::optional<std::string> find_operator_contact(db::Transaction& tx, AccountId account) {
    return tx.fetch_value<std::string>(find_contact_sql, account);
}

}  // namespace berth::agent_accounts
