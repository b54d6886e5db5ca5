#include "accounts/operators.hpp"

#include "accounts/store.hpp"

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
constexpr std::string_view raise_version_sql =
    "UPDATE accounts SET version = version + 1 WHERE account_id = $1 AND version = $2";
constexpr std::string_view end_all_sessions_sql = "DELETE FROM sessions";
// Holds the row at this version until the transaction is over.
constexpr std::string_view hold_version_sql =
    "UPDATE accounts SET version = version WHERE account_id = $1 AND version = $2";

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
    return tx.run(put_host_sql, seen.account, seen.version, enabled).affected == 1;
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
