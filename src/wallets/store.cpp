#include "wallets/store.hpp"

#include "base/check.hpp"

namespace berth::wallets {
namespace {

constexpr std::string_view add_challenge_sql =
    "INSERT INTO siwe_challenges (nonce, purpose, bound_to, issued_at, expires_at) "
    "VALUES ($1, $2, $3, $4, $5)";
// Spending deletes the row: there is nothing left that could be spent again.
constexpr std::string_view spend_challenge_sql =
    "DELETE FROM siwe_challenges WHERE nonce = $1 AND purpose = $2 "
    "RETURNING bound_to, issued_at, expires_at";
constexpr std::string_view prune_challenges_sql =
    "DELETE FROM siwe_challenges WHERE nonce IN "
    "(SELECT nonce FROM siwe_challenges WHERE expires_at <= $1 LIMIT $2)";

constexpr std::string_view reserve_sql =
    "INSERT INTO wallet_owners (chain_id, address, account_id) VALUES ($1, $2, $3) "
    "ON CONFLICT (chain_id, address) DO NOTHING";
constexpr std::string_view find_owner_sql =
    "SELECT account_id FROM wallet_owners WHERE chain_id = $1 AND address = $2";

constexpr std::string_view list_bindings_sql =
    "SELECT binding_id, account_id, address, version, linked_at, unlinked_at FROM wallet_bindings "
    "WHERE account_id = $1 ORDER BY linked_at, version, binding_id";
constexpr std::string_view latest_binding_sql =
    "SELECT binding_id, account_id, address, version, linked_at, unlinked_at FROM wallet_bindings "
    "WHERE chain_id = $1 AND address = $2 ORDER BY version DESC LIMIT 1";
constexpr std::string_view find_binding_sql =
    "SELECT binding_id, account_id, address, version, linked_at, unlinked_at FROM wallet_bindings "
    "WHERE binding_id = $1 AND account_id = $2";
constexpr std::string_view add_binding_sql =
    "INSERT INTO wallet_bindings (binding_id, account_id, chain_id, address, version, linked_at, "
    "unlinked_at) VALUES ($1, $2, $3, $4, $5, $6, NULL) "
    "ON CONFLICT (chain_id, address, version) DO NOTHING";
constexpr std::string_view unlink_sql =
    "UPDATE wallet_bindings SET unlinked_at = $2 WHERE binding_id = $1 AND unlinked_at IS NULL";

Binding read_binding(const db::Result::Row& row) {
    const auto address = crypto::parse_address(row.get<std::string>(2));
    check(address.has_value(), "an address in the database is one");
    return {row.get<BindingId>(0), row.get<AccountId>(1),  *address,
            row.get<std::int64_t>(3), row.get<Time>(4), row.get<std::optional<Time>>(5)};
}

std::optional<Binding> read_one(const db::Result& rows) {
    return rows.empty() ? std::nullopt : std::optional(read_binding(rows[0]));
}

constexpr db::Migration history[] = {
    {.feature = "wallets",
     .number = 1,
     .sql =
        "CREATE TABLE siwe_challenges ("
        "  nonce @text NOT NULL PRIMARY KEY,"
        "  purpose @text NOT NULL,"
        "  bound_to @text NOT NULL,"
        "  issued_at @int NOT NULL,"
        "  expires_at @int NOT NULL"
        ") @strict;"
        "CREATE INDEX siwe_challenges_by_end ON siwe_challenges (expires_at);"

        // Who an address belongs to, for ever.
        "CREATE TABLE wallet_owners ("
        "  chain_id @int NOT NULL,"
        "  address @text NOT NULL,"
        "  account_id @id NOT NULL,"
        "  PRIMARY KEY (chain_id, address)"
        ") @strict;"

        // One row per version; rows are never rewritten but for unlinked_at.
        "CREATE TABLE wallet_bindings ("
        "  binding_id @id NOT NULL PRIMARY KEY,"
        "  account_id @id NOT NULL,"
        "  chain_id @int NOT NULL,"
        "  address @text NOT NULL,"
        "  version @int NOT NULL,"
        "  linked_at @int NOT NULL,"
        "  unlinked_at @int,"
        "  UNIQUE (chain_id, address, version)"
        ") @strict;"
        "CREATE INDEX wallet_bindings_by_account ON wallet_bindings (account_id);",
     .formerly = 5},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

void add_challenge(db::Transaction& tx, const Challenge& challenge) {
    tx.run(add_challenge_sql, challenge.nonce, challenge.purpose, challenge.bound_to,
           challenge.issued_at, challenge.expires_at);
}

std::optional<Challenge> spend_challenge(db::Transaction& tx, std::string_view purpose,
                                         std::string_view nonce, Time now) {
    const auto rows = tx.run(spend_challenge_sql, nonce, purpose);
    if (rows.empty()) return std::nullopt;
    Challenge challenge{std::string(nonce), std::string(purpose), rows[0].get<std::string>(0),
                        rows[0].get<Time>(1), rows[0].get<Time>(2)};
    return challenge.expires_at > now ? std::optional(std::move(challenge)) : std::nullopt;
}

std::int64_t prune_challenges(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_challenges_sql, now, rows_max).affected;
}

AccountId reserve_address(db::Transaction& tx, const crypto::Address& address, AccountId account) {
    const std::string text = crypto::to_string(address);
    if (tx.run(reserve_sql, base_chain_id, text, account).affected == 1) return account;
    const auto rows = tx.run(find_owner_sql, base_chain_id, text);
    check(!rows.empty(), "an address that is taken has an owner");
    return rows[0].get<AccountId>(0);
}

std::vector<Binding> list_bindings(db::Transaction& tx, AccountId account) {
    const auto rows = tx.run(list_bindings_sql, account);
    std::vector<Binding> bindings;
    for (std::size_t i = 0; i < rows.size(); ++i) bindings.push_back(read_binding(rows[i]));
    return bindings;
}

std::optional<Binding> find_latest_binding(db::Transaction& tx, const crypto::Address& address) {
    return read_one(tx.run(latest_binding_sql, base_chain_id, crypto::to_string(address)));
}

std::optional<Binding> find_binding(db::Transaction& tx, BindingId id, AccountId account) {
    return read_one(tx.run(find_binding_sql, id, account));
}

bool add_binding(db::Transaction& tx, const Binding& binding) {
    return tx.run(add_binding_sql, binding.id, binding.account, base_chain_id,
                  crypto::to_string(binding.address), binding.version, binding.linked_at)
               .affected == 1;
}

bool unlink(db::Transaction& tx, BindingId id, Time now) {
    return tx.run(unlink_sql, id, now).affected == 1;
}

}  // namespace berth::wallets
