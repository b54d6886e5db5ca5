#include "recovery/store.hpp"

#include "accounts/mailbox.hpp"
#include "recovery/recovery.hpp"

namespace berth::recovery {
namespace {

constexpr db::Migration history[] = {
    {.feature = "recovery",
     .number = 1,
     .sql = "CREATE TABLE recoveries ("
            "  recovery_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  kind @text NOT NULL CHECK (kind IN ('email', 'wallet')),"
            "  state @text NOT NULL CHECK (state IN ('waiting', 'objected', 'cancelled',"
            "    'completed', 'expired')),"
            "  email @text,"
            "  wallet @text,"
            "  lost_authenticator @int NOT NULL,"
            "  reason @text NOT NULL,"  // this and every text without secrets
            "  evidence @text NOT NULL,"
            "  token_hash @text NOT NULL,"
            "  told @int NOT NULL,"
            "  opened_by @id NOT NULL,"
            "  opened_at @int NOT NULL,"
            "  ready_at @int NOT NULL,"
            "  expires_at @int NOT NULL,"
            "  ended_by @id,"
            "  ended_at @int,"
            "  end_reason @text,"
            "  CHECK ((kind = 'email') = (email IS NOT NULL)),"
            "  CHECK ((kind = 'wallet') = (wallet IS NOT NULL)),"
            // Nobody decides over their own account.
            "  CHECK (opened_by <> account_id)"
            ") @strict;"
            "CREATE INDEX recoveries_by_account ON recoveries (account_id, recovery_id);"
            "CREATE UNIQUE INDEX recoveries_waiting ON recoveries (account_id)"
            "  WHERE state = 'waiting';"},
    // A link of its own for each address, so that it shows who objected.
    {.feature = "recovery",
     .number = 2,
     .sql = "ALTER TABLE recoveries DROP COLUMN token_hash;"
            "ALTER TABLE recoveries ADD COLUMN was_suspended @int NOT NULL DEFAULT 0;"
            "CREATE TABLE recovery_notices ("
            "  token_hash @text NOT NULL PRIMARY KEY,"
            "  recovery_id @id NOT NULL,"
            "  address @text NOT NULL,"
            "  lost @int NOT NULL,"
            "  objected_at @int"
            ") @strict;"
            "CREATE INDEX recovery_notices_by_recovery ON recovery_notices (recovery_id);"},
};

const db::Query<RecoveryRow> add_sql(
    "INSERT INTO recoveries ({}) VALUES ({$}) "
    "ON CONFLICT (account_id) WHERE state = 'waiting' DO NOTHING");
constexpr std::string_view expire_sql =
    "UPDATE recoveries SET state = 'expired', ended_at = $2 "
    "WHERE account_id = $1 AND state = 'waiting' AND expires_at <= $2";
const db::Query<RecoveryRow> find_sql("SELECT {} FROM recoveries WHERE recovery_id = $1");
constexpr std::string_view has_waiting_sql =
    "SELECT COUNT(*) FROM recoveries WHERE account_id = $1 AND state = 'waiting' "
    "AND expires_at > $2";
// What waits and was not completed in time shows as expired, whether or not its row says so.
const db::Query<RecoveryRow> list_sql(
    "SELECT {} FROM recoveries WHERE (recovery_id < $1 OR $1 IS NULL) "
    "AND (account_id = $2 OR $2 IS NULL) AND (CASE WHEN state = 'waiting' "
    "AND expires_at <= $4 THEN 'expired' ELSE state END = $3 OR $3 IS NULL) "
    "ORDER BY recovery_id DESC LIMIT $5");
constexpr std::string_view end_sql =
    "UPDATE recoveries SET state = $2, ended_by = $3, ended_at = $4, end_reason = $5 "
    "WHERE recovery_id = $1 AND state = 'waiting'";
constexpr std::string_view list_waiting_sql =
    "SELECT account_id FROM recoveries WHERE state = 'waiting'";
const db::Query<NoticeRow> add_notice_sql("INSERT INTO recovery_notices ({}) VALUES ({$})");
const db::Query<NoticeRow> find_notice_sql("SELECT {} FROM recovery_notices WHERE token_hash = $1");
constexpr std::string_view note_objected_sql =
    "UPDATE recovery_notices SET objected_at = $2 WHERE token_hash = $1 AND objected_at IS NULL";
const db::Query<NoticeRow> list_objected_sql(
    "SELECT {} FROM recovery_notices WHERE recovery_id = $1 AND objected_at IS NOT NULL "
    "ORDER BY objected_at, token_hash");
constexpr std::string_view end_all_sql =
    "UPDATE recoveries SET state = 'cancelled', ended_at = $1, end_reason = $2 "
    "WHERE state = 'waiting'";

}  // namespace

const std::span<const db::Migration> migrations = history;

bool add_recovery(db::Transaction& tx, const RecoveryRow& row) {
    tx.run(expire_sql, row.account_id, row.opened_at);
    return tx.insert(add_sql, row).affected == 1;
}

std::optional<RecoveryRow> find_recovery(db::Transaction& tx, RecoveryId id) {
    return tx.fetch_one(find_sql, id);
}

bool has_waiting(db::Transaction& tx, AccountId account, Time now) {
    return tx.fetch_value<std::int64_t>(has_waiting_sql, account, now).value() > 0;
}

std::vector<RecoveryRow> list_recoveries(db::Transaction& tx, const RecoveriesWanted& wanted,
                                         std::int64_t rows_max) {
    return tx.fetch(list_sql, wanted.before, wanted.account, wanted.state, wanted.now, rows_max);
}

bool end_recovery(db::Transaction& tx, const RecoveryRow& row) {
    return tx.run(end_sql, row.recovery_id, row.state, row.ended_by, row.ended_at, row.end_reason)
               .affected == 1;
}

void add_notice(db::Transaction& tx, const NoticeRow& row) { tx.insert(add_notice_sql, row); }

std::optional<NoticeRow> find_notice(db::Transaction& tx, std::string_view token_hash) {
    return tx.fetch_one(find_notice_sql, token_hash);
}

bool note_objected(db::Transaction& tx, std::string_view token_hash, Time now) {
    return tx.run(note_objected_sql, token_hash, now).affected == 1;
}

std::vector<NoticeRow> list_objected(db::Transaction& tx, RecoveryId id) {
    return tx.fetch(list_objected_sql, id);
}

std::int64_t end_waiting(db::Transaction& tx, Time now) {
    for (const AccountId account : tx.fetch_values<AccountId>(list_waiting_sql))
        accounts::end_promises(tx, account);
    return tx.run(end_all_sql, now, "the books were restored; it has to be asked for anew")
        .affected;
}

}  // namespace berth::recovery
