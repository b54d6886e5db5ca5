#include "wallets/store.hpp"

#include "base/check.hpp"

namespace berth::wallets {
namespace {

const db::Query<Challenge> add_challenge_sql("INSERT INTO siwe_challenges ({}) VALUES ({$})");
const db::Query<Challenge> find_challenge_sql(
    "SELECT {} FROM siwe_challenges WHERE nonce = $1 AND purpose = $2");
// Spending deletes the row: there is nothing left that could be spent again.
const db::Query<Challenge> spend_challenge_sql(
    "DELETE FROM siwe_challenges WHERE nonce = $1 AND purpose = $2 RETURNING {}");
constexpr std::string_view prune_challenges_sql =
    "DELETE FROM siwe_challenges WHERE nonce IN "
    "(SELECT nonce FROM siwe_challenges WHERE expires_at <= $1 LIMIT $2)";

constexpr std::string_view reserve_sql =
    "INSERT INTO wallet_owners (chain_id, address, account_id) VALUES ($1, $2, $3) "
    "ON CONFLICT (chain_id, address) DO NOTHING";
constexpr std::string_view find_owner_sql =
    "SELECT account_id FROM wallet_owners WHERE chain_id = $1 AND address = $2";

constexpr std::string_view bar_sql =
    "UPDATE wallet_owners SET barred_at = $4 WHERE chain_id = $1 AND account_id = $2 "
    "AND address <> $3 AND barred_at IS NULL";
constexpr std::string_view is_barred_sql =
    "SELECT COUNT(*) FROM wallet_owners WHERE chain_id = $1 AND address = $2 "
    "AND barred_at IS NOT NULL";
constexpr std::string_view note_signature_sql =
    "UPDATE wallet_owners SET last_signed_at = $3 WHERE chain_id = $1 AND address = $2 "
    "AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.account_id = wallet_owners.account_id "
    "AND a.suspended = 1)";
constexpr std::string_view has_signed_sql =
    "SELECT COUNT(*) FROM wallet_owners WHERE account_id = $1 AND address <> $2 "
    "AND barred_at IS NULL AND last_signed_at > $3";

const db::Query<Binding> list_bindings_sql(
    "SELECT {} FROM wallet_bindings WHERE account_id = $1 ORDER BY linked_at, version, binding_id");
const db::Query<Binding> latest_binding_sql(
    "SELECT {} FROM wallet_bindings WHERE chain_id = $1 AND address = $2 ORDER BY version DESC "
    "LIMIT 1");
const db::Query<Binding> find_binding_sql(
    "SELECT {} FROM wallet_bindings WHERE binding_id = $1 AND account_id = $2");
constexpr std::string_view add_binding_sql =
    "INSERT INTO wallet_bindings (binding_id, account_id, chain_id, address, version, linked_at, "
    "unlinked_at) VALUES ($1, $2, $3, $4, $5, $6, NULL) "
    "ON CONFLICT (chain_id, address, version) DO NOTHING";
constexpr std::string_view unlink_sql =
    "UPDATE wallet_bindings SET unlinked_at = $2 WHERE binding_id = $1 AND unlinked_at IS NULL";

constexpr db::Migration history[] = {
    {.feature = "wallets",
     .number = 1,
     .sql = "CREATE TABLE siwe_challenges ("
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
    // When another wallet took the place of this one, which was lost.
    {.feature = "wallets",
     .number = 2,
     .sql = "ALTER TABLE wallet_owners ADD COLUMN barred_at @int;"},
    // When it last signed, which contradicts who says that it was lost.
    {.feature = "wallets",
     .number = 3,
     .sql = "ALTER TABLE wallet_owners ADD COLUMN last_signed_at @int;"
            "CREATE INDEX wallet_owners_by_account ON wallet_owners (account_id);"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

void add_challenge(db::Transaction& tx, const Challenge& challenge) {
    tx.insert(add_challenge_sql, challenge);
}

std::optional<Challenge> find_challenge(db::Transaction& tx, std::string_view purpose,
                                        std::string_view nonce) {
    return tx.fetch_one(find_challenge_sql, nonce, purpose);
}

std::optional<Challenge> spend_challenge(db::Transaction& tx, std::string_view purpose,
                                         std::string_view nonce, Time now) {
    auto challenge = tx.fetch_one(spend_challenge_sql, nonce, purpose);
    if (challenge && challenge->expires_at <= now) challenge.reset();
    return challenge;
}

std::int64_t prune_challenges(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_challenges_sql, now, rows_max).affected;
}

AccountId reserve_address(db::Transaction& tx, const crypto::Address& address, AccountId account) {
    if (tx.run(reserve_sql, base_chain_id, address, account).affected == 1) return account;
    const auto owner = tx.fetch_value<AccountId>(find_owner_sql, base_chain_id, address);
    require(owner.has_value(), "an address that is taken has an owner");
    return *owner;
}

std::optional<AccountId> find_owner(db::Transaction& tx, const crypto::Address& address) {
    return tx.fetch_value<AccountId>(find_owner_sql, base_chain_id, address);
}

void bar_wallets(db::Transaction& tx, AccountId account, const crypto::Address& kept, Time now) {
    tx.run(bar_sql, base_chain_id, account, kept, now);
    for (const Binding& binding : list_bindings(tx, account))
        if (binding.address != kept && !binding.unlinked_at) unlink(tx, binding.binding_id, now);
}

bool is_barred(db::Transaction& tx, const crypto::Address& address) {
    return tx.fetch_value<std::int64_t>(is_barred_sql, base_chain_id, address).value() > 0;
}

void note_signature(db::Transaction& tx, const crypto::Address& address, Time now) {
    tx.run(note_signature_sql, base_chain_id, address, now);
}

bool has_signed(db::Transaction& tx, AccountId account, const crypto::Address& besides,
                Time since) {
    return tx.fetch_value<std::int64_t>(has_signed_sql, account, besides, since).value() > 0;
}

std::vector<Binding> list_bindings(db::Transaction& tx, AccountId account) {
    return tx.fetch(list_bindings_sql, account);
}

std::optional<Binding> find_latest_binding(db::Transaction& tx, const crypto::Address& address) {
    return tx.fetch_one(latest_binding_sql, base_chain_id, address);
}

std::optional<Binding> find_binding(db::Transaction& tx, BindingId id, AccountId account) {
    return tx.fetch_one(find_binding_sql, id, account);
}

bool add_binding(db::Transaction& tx, const Binding& binding) {
    return tx.run(add_binding_sql, binding.binding_id, binding.account_id, base_chain_id,
                  binding.address, binding.version, binding.linked_at)
               .affected == 1;
}

bool unlink(db::Transaction& tx, BindingId id, Time now) {
    return tx.run(unlink_sql, id, now).affected == 1;
}

}  // namespace berth::wallets
