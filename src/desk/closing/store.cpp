#include "closing/store.hpp"

#include "closing/closing.hpp"

namespace berth::closing {
namespace {

constexpr db::Migration history[] = {
    {.feature = "closing",
     .number = 1,
     .sql = "CREATE TABLE closed_accounts ("
            "  account_id @id NOT NULL PRIMARY KEY,"
            "  closed_at @int NOT NULL,"
            "  was_suspended @int NOT NULL,"
            "  erase_at @int,"
            "  erased_at @int"
            ") @strict;"
            "CREATE INDEX closed_accounts_due ON closed_accounts (erase_at) "
            "  WHERE erased_at IS NULL;"},
    // Since when an erasure that is due finds something in the account.
    {.feature = "closing",
     .number = 2,
     .sql = "ALTER TABLE closed_accounts ADD COLUMN postponed_at @int;"},
};

const db::Query<ClosedRow> find_closed_sql("SELECT {} FROM closed_accounts WHERE account_id = $1");
const db::Query<ClosedRow> add_closed_sql(
    "INSERT INTO closed_accounts ({}) VALUES ({$}) ON CONFLICT (account_id) DO NOTHING");
constexpr std::string_view remove_closed_sql =
    "DELETE FROM closed_accounts WHERE account_id = $1 AND erased_at IS NULL";
constexpr std::string_view mark_erased_sql =
    "UPDATE closed_accounts SET erased_at = $2, erase_at = NULL "
    "WHERE account_id = $1 AND erased_at IS NULL";
constexpr std::string_view list_due_sql =
    "SELECT account_id FROM closed_accounts WHERE erased_at IS NULL AND erase_at <= $1 "
    "ORDER BY erase_at, account_id LIMIT $2";
constexpr std::string_view postpone_sql =
    "UPDATE closed_accounts SET erase_at = $3, postponed_at = COALESCE(postponed_at, $2) "
    "WHERE account_id = $1 AND erased_at IS NULL";
constexpr std::string_view note_suspension_sql =
    "UPDATE closed_accounts SET was_suspended = 1 WHERE account_id = $1";

}  // namespace

const std::span<const db::Migration> migrations = history;

std::optional<ClosedRow> find_closed(db::Transaction& tx, AccountId account) {
    return tx.fetch_one(find_closed_sql, account);
}

bool add_closed(db::Transaction& tx, const ClosedRow& row) {
    return tx.insert(add_closed_sql, row).affected == 1;
}

bool remove_closed(db::Transaction& tx, AccountId account) {
    return tx.run(remove_closed_sql, account).affected == 1;
}

bool mark_erased(db::Transaction& tx, AccountId account, Time now) {
    return tx.run(mark_erased_sql, account, now).affected == 1;
}

std::vector<AccountId> list_due(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch_values<AccountId>(list_due_sql, now, rows_max);
}

void postpone(db::Transaction& tx, AccountId account, Time now, Time until) {
    tx.run(postpone_sql, account, now, until);
}

void note_suspension(db::Transaction& tx, AccountId account) {
    tx.run(note_suspension_sql, account);
}

}  // namespace berth::closing
