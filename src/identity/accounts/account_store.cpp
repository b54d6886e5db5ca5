// Accounts, authenticators, keys and integrations: their statements.
#include "accounts/access_changes.hpp"
#include "accounts/credentials.hpp"
#include "accounts/store.hpp"
#include "base/check.hpp"

namespace berth::accounts {

BOOST_DESCRIBE_STRUCT(Account, (),
                      (id, kind, email, role, host_capability, suspended, totp_secret, desk_role,
                       frozen))
BOOST_DESCRIBE_STRUCT(IntegrationRow, (), (sealed_token, updated_at))
BOOST_DESCRIBE_STRUCT(KeyRow, (),
                      (id, key_hash, account, name, prefix, renter, host, created_at, expires_at,
                       last_used_at))

namespace {

const db::Query<Account> find_account_sql(
    "SELECT {} FROM (SELECT account_id AS id, kind, email, role, host_capability, suspended, "
    "totp_secret, desk_role, frozen FROM accounts WHERE account_id = $1) AS found");
const db::Query<Account> find_by_email_sql(
    "SELECT {} FROM (SELECT account_id AS id, kind, email, role, host_capability, suspended, "
    "totp_secret, desk_role, frozen FROM accounts WHERE email = $1) AS found");
constexpr std::string_view add_account_sql =
    "INSERT INTO accounts (account_id, kind, email, role, host_capability, host_barred, suspended, "
    "version, totp_secret, totp_step, created_at, last_sign_in_at) "
    "VALUES ($1, $2, $3, 'renter', 0, 0, 0, 1, NULL, 0, $4, NULL) ON CONFLICT (email) DO NOTHING";
// Changes nothing and locks the row to the end of the transaction.
constexpr std::string_view take_turn_sql =
    "UPDATE accounts SET version = version WHERE account_id = $1";
constexpr std::string_view set_role_sql =
    "UPDATE accounts SET role = $2, version = version + 1 WHERE account_id = $1";
constexpr std::string_view set_host_sql =
    "UPDATE accounts SET host_capability = $2, host_barred = 1 - $2, version = version + 1 "
    "WHERE account_id = $1";
constexpr std::string_view become_host_sql =
    "UPDATE accounts SET host_capability = 1, version = version + 1 "
    "WHERE account_id = $1 AND host_capability = 0 AND host_barred = 0";
constexpr std::string_view set_suspended_sql =
    "UPDATE accounts SET suspended = $2, version = version + 1 WHERE account_id = $1";
constexpr std::string_view note_sign_in_sql =
    "UPDATE accounts SET last_sign_in_at = CASE WHEN suspended = 0 AND totp_secret IS NULL "
    "THEN $2 ELSE last_sign_in_at END WHERE email = $1";
constexpr std::string_view note_whole_sign_in_sql =
    "UPDATE accounts SET last_sign_in_at = $2 WHERE account_id = $1";

constexpr std::string_view delete_stand_in_sql = "DELETE FROM accounts WHERE account_id = $1";
constexpr std::string_view set_email_sql =
    "UPDATE accounts SET email = $2, version = version + 1 WHERE account_id = $1";
constexpr std::string_view keep_former_sql =
    "INSERT INTO former_emails (account_id, email, ended_at) VALUES ($1, $2, $3) "
    "ON CONFLICT (account_id, email) DO UPDATE SET ended_at = $3";
constexpr std::string_view forget_former_sql =
    "DELETE FROM former_emails WHERE account_id = $1 AND email = $2";
constexpr std::string_view list_former_sql =
    "SELECT email FROM former_emails WHERE account_id = $1 AND (email IN "
    "(SELECT email FROM former_emails WHERE account_id = $1 "
    "ORDER BY ended_at DESC, email LIMIT $2) OR email IN "
    "(SELECT email FROM former_emails WHERE account_id = $1 ORDER BY ended_at, email LIMIT $3)) "
    "ORDER BY ended_at DESC, email";
constexpr std::string_view list_former_since_sql =
    "SELECT email FROM former_emails WHERE account_id = $1 AND ended_at > $2 "
    "ORDER BY ended_at DESC, email";

constexpr std::string_view promise_email_sql =
    "INSERT INTO promised_emails (email, account_id, promised_until) VALUES ($1, $2, $3) "
    "ON CONFLICT (email) DO UPDATE SET account_id = $2, promised_until = $3 "
    "WHERE promised_emails.account_id = $2 OR promised_emails.promised_until <= $4";
constexpr std::string_view is_promised_sql =
    "SELECT COUNT(*) FROM promised_emails WHERE email = $1 AND account_id <> $2 "
    "AND promised_until > $3";
constexpr std::string_view end_promises_sql = "DELETE FROM promised_emails WHERE account_id = $1";

constexpr std::string_view add_enrollment_sql =
    "INSERT INTO totp_enrollments (enrollment_id, account_id, sealed_secret, expires_at) "
    "VALUES ($1, $2, $3, $4)";
constexpr std::string_view find_enrollment_sql =
    "SELECT sealed_secret FROM totp_enrollments "
    "WHERE enrollment_id = $1 AND account_id = $2 AND expires_at > $3";
constexpr std::string_view delete_enrollments_sql =
    "DELETE FROM totp_enrollments WHERE account_id = $1";
constexpr std::string_view enable_totp_sql =
    "UPDATE accounts SET totp_secret = $2, totp_step = $3, totp_since = $4, "
    "version = version + 1 WHERE account_id = $1 AND totp_secret IS NULL";
constexpr std::string_view disable_totp_sql =
    "UPDATE accounts SET totp_secret = NULL, totp_since = NULL, version = version + 1 "
    "WHERE account_id = $1";
constexpr std::string_view totp_since_sql =
    "SELECT totp_since FROM accounts WHERE account_id = $1 AND totp_secret IS NOT NULL "
    "AND totp_since IS NOT NULL";
constexpr std::string_view note_network_sql =
    "INSERT INTO sign_in_networks (account_id, network, first_at, last_at) "
    "VALUES ($1, $2, $3, $3) ON CONFLICT (account_id, network) DO UPDATE SET last_at = $3";
constexpr std::string_view forget_networks_sql =
    "DELETE FROM sign_in_networks WHERE account_id = $1 AND network NOT IN "
    "(SELECT network FROM sign_in_networks WHERE account_id = $1 "
    "ORDER BY last_at DESC, network LIMIT $2) AND network NOT IN "
    "(SELECT network FROM sign_in_networks WHERE account_id = $1 "
    "ORDER BY first_at, network LIMIT $3)";
constexpr std::string_view knows_network_sql =
    "SELECT COUNT(*) FROM sign_in_networks n JOIN accounts a ON a.account_id = n.account_id "
    "WHERE a.email = $1 AND n.network = $2";
constexpr std::string_view use_step_sql =
    "UPDATE accounts SET totp_step = $2 WHERE account_id = $1 AND totp_step < $2";
constexpr std::string_view add_recovery_sql =
    "INSERT INTO recovery_codes (account_id, code_hash) VALUES ($1, $2)";
constexpr std::string_view list_recovery_sql =
    "SELECT code_hash FROM recovery_codes WHERE account_id = $1";
constexpr std::string_view use_recovery_sql =
    "DELETE FROM recovery_codes WHERE account_id = $1 AND code_hash = $2";
constexpr std::string_view delete_recovery_sql = "DELETE FROM recovery_codes WHERE account_id = $1";

struct ActiveKeyColumns {
    KeyId key_id;
    AccountId account_id;
    bool renter = false;
    bool host = false;
    bool host_capability = false;
    Kind kind = Kind::human;
    std::optional<Time> expires_at;
    std::optional<Time> last_used_at;
    Time account_sensitive_until;
    Time wallet_until;
};
BOOST_DESCRIBE_STRUCT(ActiveKeyColumns, (),
                      (key_id, account_id, renter, host, host_capability, kind, expires_at,
                       last_used_at, account_sensitive_until, wallet_until))
const db::Query<ActiveKeyColumns> find_key_sql(
    "SELECT {} FROM (SELECT k.key_id, k.account_id, k.renter, k.host, a.host_capability, "
    "a.kind, k.expires_at, k.last_used_at, k.account_sensitive_until, k.wallet_until "
    "FROM api_keys k JOIN accounts a ON a.account_id = k.account_id WHERE k.hash_number = $1 "
    "AND k.key_hash = $2 AND k.revoked_at IS NULL AND a.suspended = 0) AS active");
constexpr std::string_view good_key_sql =
    "SELECT k.key_id FROM api_keys k JOIN accounts a ON a.account_id = k.account_id "
    "WHERE k.key_id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2) "
    "AND a.suspended = 0";
struct KeyRightsColumns {
    bool renter = false;
    bool host = false;
    bool host_capability = false;
};
BOOST_DESCRIBE_STRUCT(KeyRightsColumns, (), (renter, host, host_capability))
const db::Query<KeyRightsColumns> key_rights_sql(
    "SELECT {} FROM (SELECT k.renter, k.host, a.host_capability FROM api_keys k "
    "JOIN accounts a ON a.account_id = k.account_id WHERE k.key_id = $1 "
    "AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2) "
    "AND a.suspended = 0) AS good");
constexpr std::string_view add_key_sql =
    "INSERT INTO api_keys (hash_number, key_hash, key_id, account_id, name, prefix, renter, host, "
    "created_at, expires_at, last_used_at, revoked_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, NULL)";
const db::Query<KeyRow> list_keys_sql(
    "SELECT {} FROM (SELECT key_id AS id, key_hash, account_id AS account, name, prefix, renter, "
    "host, created_at, expires_at, last_used_at FROM api_keys "
    "WHERE account_id = $1 AND revoked_at IS NULL AND key_id < $2) AS keys "
    "ORDER BY id DESC LIMIT $3");
constexpr std::string_view key_prefix_sql =
    "SELECT prefix FROM api_keys WHERE key_id = $1 AND account_id = $2 AND revoked_at IS NULL";
constexpr std::string_view revoke_key_sql =
    "UPDATE api_keys SET revoked_at = $2 WHERE key_id = $1 AND revoked_at IS NULL";
constexpr std::string_view revoke_keys_sql =
    "UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL";
constexpr std::string_view key_account_step_up_sql =
    "UPDATE api_keys SET account_sensitive_until = $2 WHERE key_id = $1";
constexpr std::string_view key_wallet_step_up_sql =
    "UPDATE api_keys SET wallet_until = $2 WHERE key_id = $1";
constexpr std::string_view touch_key_sql =
    "UPDATE api_keys SET last_used_at = $2 WHERE key_id = $1";

constexpr std::string_view put_integration_sql =
    "INSERT INTO integrations (account_id, provider, sealed_token, updated_at) "
    "VALUES ($1, $2, $3, $4) ON CONFLICT (account_id, provider) "
    "DO UPDATE SET sealed_token = $3, updated_at = $4";
const db::Query<IntegrationRow> find_integration_sql(
    "SELECT {} FROM integrations WHERE account_id = $1 AND provider = $2");
constexpr std::string_view delete_integration_sql =
    "DELETE FROM integrations WHERE account_id = $1 AND provider = $2";

// The start of a hash as a number, by which a row is found with fewer and quicker comparisons. With
// a million keys one new key in 10^13 shares it with another and is refused by the primary key.
std::int64_t hash_number(std::string_view key_hash) {
    require(key_hash.size() == 32, "a key is found by a SHA-256");
    return static_cast<std::int64_t>(load_big_endian(key_hash.data()));
}

}  // namespace

std::optional<Account> find_account(db::Transaction& tx, AccountId id) {
    return tx.fetch_one(find_account_sql, id);
}

std::optional<Account> find_account_by_email(db::Transaction& tx, std::string_view email) {
    return tx.fetch_one(find_by_email_sql, email);
}

void add_human(db::Transaction& tx, AccountId id, std::string_view email, Time now) {
    tx.run(add_account_sql, id, "human", email, now);
}

void add_agent(db::Transaction& tx, AccountId id, Time now) {
    tx.run(add_account_sql, id, "agent", std::optional<std::string_view>(), now);
}

// An account that stands in for a moment takes the address: whoever makes one of it at the same
// time waits for this transaction, on either engine, and neither is told of a broken constraint.
bool put_email(db::Context context, AccountId id, std::string_view email) {
    const auto& [tx, random, now] = context;
    take_turn(tx, id);
    const auto account = find_account(tx, id);
    require(account && account->email, "an address is a person's");
    if (is_promised(tx, email, id, now)) return false;
    const auto stand_in = AccountId::make(now, random);
    if (tx.run(add_account_sql, stand_in, "human", email, now).affected != 1) return false;
    tx.run(delete_stand_in_sql, stand_in);
    tx.run(set_email_sql, id, email);
    tx.run(keep_former_sql, id, *account->email, now);
    tx.run(forget_former_sql, id, email);
    return true;
}

std::vector<std::string> list_former_emails(db::Transaction& tx, AccountId id) {
    return tx.fetch_values<std::string>(list_former_sql, id, former_emails_max - former_emails_kept,
                                        former_emails_kept);
}

std::vector<std::string> list_former_emails(db::Transaction& tx, AccountId id, Time since) {
    return tx.fetch_values<std::string>(list_former_since_sql, id, since);
}

bool promise_email(db::Transaction& tx, const PromisedEmail& promise, Time now) {
    return tx.run(promise_email_sql, promise.email, promise.account, promise.until, now).affected ==
           1;
}

bool is_promised(db::Transaction& tx, std::string_view email, AccountId besides, Time now) {
    return tx.fetch_value<std::int64_t>(is_promised_sql, email, besides, now).value() > 0;
}

void end_promises(db::Transaction& tx, AccountId account) { tx.run(end_promises_sql, account); }

void take_turn(db::Transaction& tx, AccountId id) { tx.run(take_turn_sql, id); }

std::optional<Time> second_factor_since(db::Transaction& tx, AccountId id) {
    return tx.fetch_value<Time>(totp_since_sql, id);
}

void note_network(db::Transaction& tx, AccountId id, std::string_view network, Time now) {
    tx.run(note_network_sql, id, network, now);
    tx.run(forget_networks_sql, id, networks_max - networks_kept, networks_kept);
}

bool knows_network(db::Transaction& tx, std::string_view email, std::string_view network) {
    return tx.fetch_value<std::int64_t>(knows_network_sql, email, network).value() > 0;
}

void set_role(db::Transaction& tx, AccountId id, Role role) {
    tx.run(set_role_sql, id, role);
    note_access_change(tx, id);
}

void set_host_capability(db::Transaction& tx, AccountId id, bool enabled) {
    tx.run(set_host_sql, id, enabled);
    note_access_change(tx, id);
}

void become_host(db::Transaction& tx, AccountId id) { tx.run(become_host_sql, id); }

void set_suspended(db::Transaction& tx, AccountId id, bool suspended) {
    tx.run(set_suspended_sql, id, suspended);
    note_access_change(tx, id);
}

void note_sign_in(db::Transaction& tx, std::string_view email, Time now) {
    tx.run(note_sign_in_sql, email, now);
}

void note_sign_in(db::Transaction& tx, AccountId id, Time now) {
    tx.run(note_whole_sign_in_sql, id, now);
}

void add_totp_enrollment(db::Transaction& tx, EnrollmentId id, AccountId account,
                         std::string_view sealed_secret, Time expires_at) {
    tx.run(add_enrollment_sql, id, account, db::Blob{sealed_secret}, expires_at);
}

std::optional<Bytes> find_totp_enrollment(db::Transaction& tx, EnrollmentId id, AccountId account,
                                          Time now) {
    return tx.fetch_value<Bytes>(find_enrollment_sql, id, account, now);
}

void delete_totp_enrollments(db::Transaction& tx, AccountId account) {
    tx.run(delete_enrollments_sql, account);
}

bool enable_totp(db::Transaction& tx, AccountId account, const NewFactor& factor) {
    return tx.run(enable_totp_sql, account, db::Blob{factor.sealed_secret}, factor.step,
                  factor.since)
               .affected == 1;
}

void disable_totp(db::Transaction& tx, AccountId account) {
    tx.run(disable_totp_sql, account);
    tx.run(delete_recovery_sql, account);
    delete_totp_enrollments(tx, account);
    note_access_change(tx, account);
}

bool use_totp_step(db::Transaction& tx, AccountId account, std::int64_t step) {
    return tx.run(use_step_sql, account, step).affected == 1;
}

void add_recovery_code(db::Transaction& tx, AccountId account, std::string_view kept) {
    tx.start(add_recovery_sql, account, db::Blob{kept});
}

std::vector<Bytes> list_recovery_codes(db::Transaction& tx, AccountId account) {
    return tx.fetch_values<Bytes>(list_recovery_sql, account);
}

bool use_recovery_code(db::Transaction& tx, AccountId account, std::string_view kept) {
    return tx.run(use_recovery_sql, account, db::Blob{kept}).affected == 1;
}

std::optional<ActiveKey> find_key(db::Transaction& tx, std::string_view key_hash) {
    const auto row = tx.fetch_one(find_key_sql, hash_number(key_hash), db::Blob{key_hash});
    if (!row) return std::nullopt;
    ActiveKey key{.id = row->key_id,
                  .account = row->account_id,
                  .renter = row->renter,
                  .host = row->host,
                  .host_capability = row->host_capability,
                  .kind = row->kind,
                  .expires_at = row->expires_at,
                  .last_used_at = row->last_used_at};
    key.step_up_until[static_cast<std::size_t>(api::StepUp::account_sensitive)] =
        row->account_sensitive_until;
    key.step_up_until[static_cast<std::size_t>(api::StepUp::wallet)] = row->wallet_until;
    return key;
}

db::Transaction::Ticket ask_for_good_key(db::Transaction& tx, KeyId id, Time now) {
    return tx.start(good_key_sql, id, now);
}

db::Transaction::Ticket ask_for_key_rights(db::Transaction& tx, KeyId id, Time now) {
    return tx.start(key_rights_sql.sql(), id, now);
}

std::optional<Rights> key_rights_in(const db::Result& result) {
    const auto row = key_rights_sql.row(result);
    if (!row) return std::nullopt;
    return Rights{row->renter, row->host && row->host_capability, false};
}

void add_key(db::Transaction& tx, const KeyRow& key) {
    tx.run(add_key_sql, hash_number(key.key_hash), db::Blob{key.key_hash}, key.id, key.account,
           key.name, key.prefix, key.renter, key.host, key.created_at, key.expires_at);
}

std::vector<KeyRow> list_keys(db::Transaction& tx, AccountId account,
                              const std::optional<KeyId>& after, std::int64_t rows_max) {
    Uuid last;
    last.bytes.fill(static_cast<char>(0xFF));
    return tx.fetch(list_keys_sql, account, after ? after->uuid : last, rows_max);
}

std::optional<std::string> find_key_prefix(db::Transaction& tx, AccountId account, KeyId id) {
    return tx.fetch_value<std::string>(key_prefix_sql, id, account);
}

void revoke_key(db::Transaction& tx, AccountId account, KeyId id, Time now) {
    tx.run(revoke_key_sql, id, now);
    note_access_change(tx, account);
}

void revoke_keys(db::Transaction& tx, AccountId account, Time now) {
    tx.run(revoke_keys_sql, account, now);
    note_access_change(tx, account);
}

void set_step_up(db::Transaction& tx, KeyId id, Purpose purpose, Time until) {
    require(purpose != Purpose::admin_sensitive, "a key is never an admin's");
    tx.run(purpose == Purpose::wallet ? key_wallet_step_up_sql : key_account_step_up_sql, id,
           until);
}

void touch_key(db::Transaction& tx, KeyId id, Time now) { tx.run(touch_key_sql, id, now); }

void put_integration(db::Transaction& tx, AccountId account, std::string_view provider,
                     const IntegrationRow& row) {
    tx.run(put_integration_sql, account, provider, db::Blob{row.sealed_token}, row.updated_at);
}

std::optional<IntegrationRow> find_integration(db::Transaction& tx, AccountId account,
                                               std::string_view provider) {
    return tx.fetch_one(find_integration_sql, account, provider);
}

void delete_integration(db::Transaction& tx, AccountId account, std::string_view provider) {
    tx.run(delete_integration_sql, account, provider);
}

}  // namespace berth::accounts
