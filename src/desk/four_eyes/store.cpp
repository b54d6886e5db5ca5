#include "four_eyes/store.hpp"

#include "base/check.hpp"
#include "four_eyes/four_eyes.hpp"

namespace berth::four_eyes {
namespace {

constexpr db::Migration history[] = {
    {.feature = "four_eyes",
     .number = 1,
     .sql = "CREATE TABLE pending_actions ("
            "  pending_action_id @id NOT NULL PRIMARY KEY,"
            "  action @text NOT NULL,"
            "  method @text NOT NULL,"
            "  target @text NOT NULL,"
            "  body @text NOT NULL,"
            "  target_kind @text NOT NULL,"
            "  target_id @text NOT NULL,"
            "  about @id,"
            "  gains @id,"
            "  amount @int,"
            "  reason @text NOT NULL,"
            "  consequence @text NOT NULL,"
            "  seen @text NOT NULL,"
            "  asked_by @id,"  // null: a command on the server's own machine
            "  asked_at @int NOT NULL,"
            "  expires_at @int NOT NULL,"
            "  state @text NOT NULL CHECK (state IN ('waiting', 'confirmed', 'refused')),"
            "  decided_by @id,"
            "  decided_at @int,"
            "  decision_reason @text,"
            "  CHECK ((state = 'waiting') = (decided_by IS NULL)),"
            // Whoever asked, is meant or gains may refuse, and never confirm.
            "  CHECK (state <> 'confirmed' OR asked_by IS NULL OR decided_by <> asked_by),"
            "  CHECK (state <> 'confirmed' OR about IS NULL OR decided_by <> about),"
            "  CHECK (state <> 'confirmed' OR gains IS NULL OR decided_by <> gains)"
            ") @strict;"

            // One row: whose turn it is, and since when former admins are counted.
            "CREATE TABLE four_eyes_guard ("
            "  guard @int NOT NULL PRIMARY KEY CHECK (guard = 1),"
            "  taken @int NOT NULL,"
            "  counted_since @int NOT NULL"
            ") @strict;"
            "INSERT INTO four_eyes_guard (guard, taken, counted_since) VALUES (1, 0, 0);"

            "CREATE TABLE decided_alone ("
            "  decision_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  decided_at @int NOT NULL,"
            "  amount @int NOT NULL CHECK (amount >= 0)"
            ") @strict;"
            "CREATE INDEX decided_alone_by_account ON decided_alone (account_id, decided_at);"},
    // What the server was last started with.
    {.feature = "four_eyes",
     .number = 2,
     .sql = "ALTER TABLE four_eyes_guard ADD COLUMN mode @text;"
            "ALTER TABLE four_eyes_guard ADD COLUMN alone_limit @int;"},
    // Those that nobody has decided, among all there were.
    {.feature = "four_eyes",
     .number = 3,
     .sql = "CREATE INDEX pending_actions_waiting ON pending_actions (expires_at)"
            "  WHERE state = 'waiting';"},
};

const db::Query<PendingRow> add_pending_sql("INSERT INTO pending_actions ({}) VALUES ({$})");
const db::Query<PendingRow> find_pending_sql(
    "SELECT {} FROM pending_actions WHERE pending_action_id = $1");
// An expired one is a waiting one whose time is over.
const db::Query<PendingRow> list_pending_sql(
    "SELECT {} FROM pending_actions WHERE (pending_action_id < $1 OR $1 IS NULL) "
    "AND (CASE WHEN state = 'waiting' AND expires_at <= $3 THEN 'expired' ELSE state END = $2 "
    "OR $2 IS NULL) ORDER BY pending_action_id DESC LIMIT $4");
constexpr std::string_view decide_pending_sql =
    "UPDATE pending_actions SET state = $2, decided_by = $3, decided_at = $4, "
    "decision_reason = $5, body = $6 "
    "WHERE pending_action_id = $1 AND state = 'waiting' AND expires_at > $4";
constexpr std::string_view counted_since_sql = "SELECT counted_since FROM four_eyes_guard";
constexpr std::string_view count_since_sql = "UPDATE four_eyes_guard SET counted_since = $1";
struct StartRow {
    std::string mode;
    Micro alone_limit;
};
BOOST_DESCRIBE_STRUCT(StartRow, (), (mode, alone_limit))
const db::Query<StartRow> last_start_sql(
    "SELECT {} FROM four_eyes_guard WHERE mode IS NOT NULL AND alone_limit IS NOT NULL");
constexpr std::string_view put_start_sql = "UPDATE four_eyes_guard SET mode = $1, alone_limit = $2";
// Nobody has decided it: its time is over.
constexpr std::string_view end_waiting_sql =
    "UPDATE pending_actions SET expires_at = $1 WHERE state = 'waiting' AND expires_at > $1";
constexpr std::string_view forget_account_sql =
    "UPDATE pending_actions SET reason = 'erased', consequence = 'erased', body = '', "
    "decision_reason = CASE WHEN decision_reason IS NULL THEN NULL ELSE 'erased' END, "
    "expires_at = CASE WHEN state = 'waiting' AND expires_at > $2 THEN $2 ELSE expires_at END "
    "WHERE about = $1 OR gains = $1";
constexpr std::string_view take_turn_sql = "UPDATE four_eyes_guard SET taken = taken + 1";
constexpr std::string_view decided_alone_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM decided_alone "
    "WHERE account_id = $1 AND decided_at > $2";
constexpr std::string_view note_alone_sql =
    "INSERT INTO decided_alone (decision_id, account_id, decided_at, amount) "
    "VALUES ($1, $2, $3, $4)";
constexpr std::string_view forget_alone_sql =
    "DELETE FROM decided_alone WHERE account_id = $1 AND decided_at <= $2";

}  // namespace

const std::span<const db::Migration> migrations = history;

void add_pending(db::Transaction& tx, const PendingRow& row) { tx.insert(add_pending_sql, row); }

std::optional<PendingRow> find_pending(db::Transaction& tx, PendingActionId id) {
    return tx.fetch_one(find_pending_sql, id);
}

std::vector<PendingRow> list_pending(db::Transaction& tx, const PendingWanted& wanted,
                                     std::int64_t rows_max) {
    return tx.fetch(list_pending_sql, wanted.before, wanted.state, wanted.now, rows_max);
}

bool decide_pending(db::Transaction& tx, const PendingRow& row) {
    return tx.run(decide_pending_sql, row.pending_action_id, row.state, row.decided_by,
                  row.decided_at, row.decision_reason, row.body)
               .affected == 1;
}

Time counted_since(db::Transaction& tx) { return tx.fetch_value<Time>(counted_since_sql).value(); }

void count_since(db::Transaction& tx, Time when) {
    require(tx.run(count_since_sql, when).affected == 1, "the guard of four eyes is one row");
}

std::optional<Start> last_start(db::Transaction& tx) {
    const auto row = tx.fetch_one(last_start_sql);
    if (!row) return std::nullopt;
    return Start{mode_of(row->mode), row->alone_limit};
}

void put_start(db::Transaction& tx, const Start& start) {
    require(tx.run(put_start_sql, name_of(start.mode), start.limit).affected == 1,
            "the guard of four eyes is one row");
}

std::int64_t end_waiting(db::Transaction& tx, Time now) {
    return tx.run(end_waiting_sql, now).affected;
}

void forget_account(db::Transaction& tx, AccountId account, Time now) {
    tx.run(forget_account_sql, account, now);
}

void take_turn(db::Transaction& tx) {
    require(tx.run(take_turn_sql).affected == 1, "the guard of four eyes is one row");
}

Micro decided_alone(db::Transaction& tx, AccountId who, Time since) {
    return tx.fetch_value<Micro>(decided_alone_sql, who, since).value();
}

// What is too old to count is forgotten on the way.
void note_alone(db::Context context, const Alone& alone) {
    const auto& [tx, random, now] = context;
    tx.run(forget_alone_sql, alone.account_id, alone.at - limit_period);
    tx.run(note_alone_sql, make_uuid(now, random), alone.account_id, alone.at, alone.amount);
}

}  // namespace berth::four_eyes
