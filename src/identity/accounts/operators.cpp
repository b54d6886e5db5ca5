#include "accounts/operators.hpp"

#include "accounts/access_changes.hpp"
#include "accounts/sessions.hpp"
#include "accounts/store.hpp"
#include "base/problem.hpp"

namespace berth::accounts {
namespace {

const db::Query<Record> find_record_sql("SELECT {} FROM accounts WHERE account_id = $1");
const db::Query<Record> list_records_sql(
    "SELECT {} FROM accounts WHERE (account_id < $1 OR $1 IS NULL) "
    "AND ($2 = '' OR REPLACE(email, $2, '') <> email) ORDER BY account_id DESC LIMIT $3");
constexpr std::string_view list_not_hosting_sql =
    "SELECT account_id FROM accounts WHERE suspended = 1 "
    "UNION SELECT account_id FROM accounts WHERE host_barred = 1 ORDER BY 1";
constexpr std::string_view count_admins_sql =
    "SELECT COUNT(*) FROM accounts WHERE role = 'admin' AND suspended = 0 AND account_id <> $1";

// A change of role ends a desk role: who becomes an admin needs none, and who ceases to be one is
// no operator any more. Whoever was an admin until this change ceases to be one now; where it is
// none of that kind, or the account stays an admin, $4 is not looked at.
constexpr std::string_view put_role_sql =
    "UPDATE accounts SET role = $3, desk_role = CASE WHEN role = $3 THEN desk_role END, "
    "version = version + 1, admin_ended_at = CASE "
    "WHEN role = 'admin' AND suspended = 0 AND $3 <> 'admin' THEN $4 ELSE admin_ended_at END "
    "WHERE account_id = $1 AND version = $2";
constexpr std::string_view put_suspension_sql =
    "UPDATE accounts SET suspended = $3, version = version + 1, admin_ended_at = CASE "
    "WHEN role = 'admin' AND suspended = 0 AND $3 = 1 THEN $4 ELSE admin_ended_at END "
    "WHERE account_id = $1 AND version = $2";
const db::Query<Record> list_admins_sql(
    "SELECT {} FROM accounts WHERE (role = 'admin' AND suspended = 0) OR admin_ended_at > $1 "
    "ORDER BY account_id");
constexpr std::string_view put_desk_role_sql =
    "UPDATE accounts SET desk_role = $3, version = version + 1 "
    "WHERE account_id = $1 AND version = $2";
constexpr std::string_view put_host_sql =
    "UPDATE accounts SET host_capability = $3, host_barred = 1 - $3, version = version + 1 "
    "WHERE account_id = $1 AND version = $2";
// Who froze it first does not let go alone what another has frozen since: then it is nobody's.
constexpr std::string_view put_freeze_sql =
    "UPDATE accounts SET frozen = $3, version = version + 1, "
    "frozen_by = CASE WHEN frozen = 0 THEN $4 "
    "WHEN $3 = 1 AND frozen_by <> $4 THEN NULL ELSE frozen_by END "
    "WHERE account_id = $1 AND version = $2";
constexpr std::string_view was_frozen_by_sql =
    "SELECT 1 FROM accounts WHERE account_id = $1 AND frozen = 1 AND frozen_by = $2";
constexpr std::string_view is_frozen_sql =
    "SELECT 1 FROM accounts WHERE account_id = $1 AND frozen = 1";
constexpr std::string_view was_entered_sql =
    "SELECT COUNT(*) FROM accounts WHERE account_id = $1 AND (last_sign_in_at > $2 "
    "OR totp_since > $2 OR EXISTS (SELECT 1 FROM former_emails f "
    "WHERE f.account_id = accounts.account_id AND f.ended_at > $2))";
constexpr std::string_view was_key_used_sql =
    "SELECT COUNT(*) FROM api_keys WHERE account_id = $1 AND last_used_at > $2";
constexpr std::string_view raise_version_sql =
    "UPDATE accounts SET version = version + 1 WHERE account_id = $1 AND version = $2";
constexpr std::string_view end_all_sessions_sql = "DELETE FROM sessions";
// Holds the row at this version until the transaction is over.
constexpr std::string_view hold_version_sql =
    "UPDATE accounts SET version = version WHERE account_id = $1 AND version = $2";

const db::Query<EndedKey> end_all_keys_sql(
    "UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL "
    "RETURNING {}");
const db::Query<EndedKey> end_one_key_sql(
    "UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1 AND key_id = $3 "
    "AND revoked_at IS NULL RETURNING {}");
const db::Query<SessionRecord> list_session_records_sql(
    "SELECT {} FROM sessions WHERE account_id = $1 AND expires_at > $2 AND last_seen_at > $3 "
    "ORDER BY session_id DESC LIMIT $4");

bool with_sessions(db::Transaction& tx, AccountId account, const db::Result& changed) {
    if (changed.affected != 1) return false;
    delete_sessions(tx, account);
    return true;
}

}  // namespace

std::optional<Record> find_record(db::Transaction& tx, AccountId id) {
    return tx.fetch_one(find_record_sql, id);
}

std::vector<Record> list_records(db::Transaction& tx, const RecordsWanted& wanted,
                                 std::int64_t rows_max) {
    return tx.fetch(list_records_sql, wanted.before, wanted.part, rows_max);
}

std::vector<AccountId> list_not_hosting(db::Transaction& tx) {
    return tx.fetch_values<AccountId>(list_not_hosting_sql);
}

std::int64_t count_other_admins(db::Transaction& tx, AccountId id) {
    return tx.fetch_value<std::int64_t>(count_admins_sql, id).value();
}

std::vector<Record> list_admins(db::Transaction& tx, Time ended_after) {
    return tx.fetch(list_admins_sql, ended_after);
}

bool put_role(db::Transaction& tx, const Seen& seen, Role role, Time now) {
    return with_sessions(tx, seen.account,
                         tx.run(put_role_sql, seen.account, seen.version, role, now));
}

bool put_suspension(db::Transaction& tx, const Seen& seen, bool suspended, Time now) {
    return with_sessions(tx, seen.account,
                         tx.run(put_suspension_sql, seen.account, seen.version, suspended, now));
}

bool put_desk_role(db::Transaction& tx, const Seen& seen, const std::optional<DeskRole>& role) {
    return with_sessions(tx, seen.account,
                         tx.run(put_desk_role_sql, seen.account, seen.version, role));
}

bool put_host_capability(db::Transaction& tx, const Seen& seen, bool enabled) {
    if (tx.run(put_host_sql, seen.account, seen.version, enabled).affected != 1) return false;
    note_access_change(tx, seen.account);
    return true;
}

bool put_freeze(db::Transaction& tx, const Seen& seen, bool frozen,
                const std::optional<AccountId>& by) {
    return tx.run(put_freeze_sql, seen.account, seen.version, frozen, by).affected == 1;
}

bool was_frozen_by(db::Transaction& tx, AccountId account, AccountId by) {
    return !tx.run(was_frozen_by_sql, account, by).empty();
}

void require_not_frozen(db::Transaction& tx, AccountId account) {
    if (!tx.run(is_frozen_sql, account).empty())
        throw Problem(Code::conflict,
                      "this account is frozen: nothing leaves it and nothing new is rented until "
                      "an operator ends that; write to support");
}

bool was_entered(db::Transaction& tx, AccountId account, Time since) {
    return tx.fetch_value<std::int64_t>(was_entered_sql, account, since).value() > 0;
}

bool was_key_used(db::Transaction& tx, AccountId account, Time since) {
    return tx.fetch_value<std::int64_t>(was_key_used_sql, account, since).value() > 0;
}

// The row of the account is changed first: of two operators who revoke at once the second finds
// another version.
std::optional<std::vector<EndedKey>> end_keys(db::Transaction& tx, const Seen& seen,
                                              const std::optional<KeyId>& only, Time now) {
    if (tx.run(raise_version_sql, seen.account, seen.version).affected != 1) return std::nullopt;
    note_access_change(tx, seen.account);
    return only ? tx.fetch(end_one_key_sql, seen.account, now, *only)
                : tx.fetch(end_all_keys_sql, seen.account, now);
}

// The filters that are there make the statement, so that each finds its index.
std::vector<KeyRecord> list_key_records(db::Transaction& tx, const KeysWanted& wanted,
                                        std::int64_t rows_max) {
    KeyId last;
    last.uuid.bytes.fill(static_cast<char>(0xff));
    std::string sql = "SELECT {} FROM api_keys WHERE key_id < $1";
    if (wanted.account) sql += " AND account_id = $2";
    if (wanted.prefix) sql += " AND prefix = $3";
    if (wanted.good)
        sql += *wanted.good ? " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)"
                            : " AND (revoked_at IS NOT NULL OR expires_at <= $4)";
    sql += " ORDER BY key_id DESC LIMIT $5";
    return tx.fetch(db::Query<KeyRecord>(sql), wanted.before.value_or(last), wanted.account,
                    wanted.prefix, wanted.now, rows_max);
}

std::vector<SessionRecord> list_session_records(db::Transaction& tx, AccountId account, Time now,
                                                std::int64_t rows_max) {
    return tx.fetch(list_session_records_sql, account, now, now - session_idle_max, rows_max);
}

bool end_sessions(db::Transaction& tx, const Seen& seen) {
    return with_sessions(tx, seen.account, tx.run(raise_version_sql, seen.account, seen.version));
}

std::int64_t end_all_sessions(db::Transaction& tx) { return tx.run(end_all_sessions_sql).affected; }

bool reset_second_factor(db::Transaction& tx, const Seen& seen) {
    const bool held =
        with_sessions(tx, seen.account, tx.run(hold_version_sql, seen.account, seen.version));
    if (held) disable_totp(tx, seen.account);
    return held;
}

}  // namespace berth::accounts
