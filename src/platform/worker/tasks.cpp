#include "worker/tasks.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/letters.hpp"

namespace berth::worker {
namespace {

constexpr std::string_view enqueue_sql =
    "INSERT INTO tasks (task_id, kind, unique_key, payload, state, run_at, attempts, lease_id, "
    "lease_until, last_error, created_at) "
    "VALUES ($1, $2, $3, $4, 'waiting', $5, 0, NULL, 0, NULL, $6) "
    "ON CONFLICT (unique_key) DO NOTHING";

const db::Query<Due> due_columns("{}");

constexpr std::string_view recurring_prefix = "every ";
struct RecurringRow {
    std::string kind;
    Time run_at;
    Time lease_until;
};
BOOST_DESCRIBE_STRUCT(RecurringRow, (), (kind, run_at, lease_until))
const db::Query<RecurringRow> recurring_sql("SELECT {} FROM tasks WHERE unique_key LIKE 'every %'");

struct TakenTask {
    std::string kind;
    std::string payload;
    std::int64_t attempts = 0;
};
BOOST_DESCRIBE_STRUCT(TakenTask, (), (kind, payload, attempts))
const db::Query<TakenTask> take_lease_sql(
    "UPDATE tasks SET lease_id = $2, lease_until = $3, attempts = attempts + 1 "
    "WHERE task_id = $1 AND lease_until = $4 AND state = 'waiting' RETURNING {}");

constexpr std::string_view extend_lease_sql =
    "UPDATE tasks SET lease_until = $3 WHERE task_id = $1 AND lease_id = $2";

constexpr std::string_view end_sql = "DELETE FROM tasks WHERE task_id = $1 AND lease_id = $2";

constexpr std::string_view repeat_sql =
    "UPDATE tasks SET run_at = $3, attempts = 0, lease_id = NULL, lease_until = 0, "
    "last_error = NULL WHERE task_id = $1 AND lease_id = $2";

constexpr std::string_view postpone_sql =
    "UPDATE tasks SET run_at = $3, lease_id = NULL, lease_until = 0, last_error = $4 "
    "WHERE task_id = $1 AND lease_id = $2";

constexpr std::string_view return_sql =
    "UPDATE tasks SET run_at = $3, attempts = attempts - 1, lease_id = NULL, lease_until = 0 "
    "WHERE task_id = $1 AND lease_id = $2";

constexpr std::string_view overdue_sql =
    "SELECT task_id FROM tasks WHERE unique_key = $1 AND run_at < $2 AND lease_until < $2";

constexpr std::string_view failing_sql =
    "SELECT task_id FROM tasks WHERE kind = $1 AND last_error IS NOT NULL LIMIT 1";

constexpr std::string_view bury_sql =
    "UPDATE tasks SET state = 'dead', lease_id = NULL, lease_until = 0, last_error = $3, "
    "unique_key = NULL WHERE task_id = $1 AND lease_id = $2";

const db::Query<TaskRow> find_task_sql("SELECT {} FROM tasks WHERE task_id = $1");
const db::Query<TaskRow> list_tasks_sql(
    "SELECT {} FROM tasks WHERE (task_id < $1 OR $1 IS NULL) AND (state = $2 OR $2 IS NULL) "
    "ORDER BY task_id DESC LIMIT $3");
constexpr std::string_view revive_sql =
    "UPDATE tasks SET state = 'waiting', run_at = $2, attempts = 0, last_error = NULL "
    "WHERE task_id = $1 AND state = 'dead'";
constexpr std::string_view drop_sql = "DELETE FROM tasks WHERE task_id = $1 AND state = 'dead'";

constexpr db::Migration history[] = {
    {.feature = "worker",
     .number = 1,
     .sql = "CREATE TABLE tasks ("
            "  task_id @id NOT NULL PRIMARY KEY,"
            "  kind @text NOT NULL,"
            "  unique_key @text UNIQUE,"
            "  payload @text NOT NULL,"
            "  state @text NOT NULL CHECK (state IN ('waiting', 'dead')),"
            "  run_at @int NOT NULL,"
            "  attempts @int NOT NULL,"
            "  lease_id @id,"
            "  lease_until @int NOT NULL,"
            "  last_error @text,"
            "  created_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX tasks_by_due ON tasks (state, run_at, task_id);",
     .formerly = 2},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

void enqueue(db::Context context, const NewTask& task) {
    context.tx.run(enqueue_sql, TaskId::make(context.now, context.random), task.kind,
                   task.unique_key, task.payload, task.run_at, context.now);
}

bool is_failing(db::Transaction& tx, std::string_view kind) {
    return !tx.run(failing_sql, kind).empty();
}

bool is_overdue(db::Transaction& tx, std::string_view kind, Time due_since) {
    return !tx.run(overdue_sql, recurring_key(kind), due_since).empty();
}

std::string_view due_statement(const std::vector<std::string>& kinds) {
    static std::mutex mutex;
    static std::set<std::string> texts;
    std::string list;
    for (const std::string& kind : kinds) {
        const bool plain = std::all_of(kind.begin(), kind.end(), [](char c) {
            return is_lower(c) || is_digit(c) || c == '_';
        });
        check(plain && !kind.empty(), "the name of a kind of task is small letters");
        list += (list.empty() ? "'" : ", '") + kind + "'";
    }
    check(!list.empty(), "tasks of no kind cannot be looked for");
    const std::lock_guard lock(mutex);
    return *texts
                .insert("SELECT " + std::string(due_columns.sql()) +
                        " FROM tasks WHERE state = 'waiting' AND run_at <= $1 "
                        "AND lease_until <= $1 AND kind IN (" +
                        list + ") ORDER BY run_at, task_id LIMIT $2")
                .first;
}

std::string recurring_key(std::string_view kind) {
    return std::string(recurring_prefix) + std::string(kind);
}

std::vector<std::string> neglected(db::Transaction& tx, const std::vector<std::string>& kinds,
                                   Time due_since) {
    std::set<std::string> kept;
    for (const RecurringRow& row : tx.fetch(recurring_sql))
        if (row.run_at >= due_since || row.lease_until >= due_since) kept.insert(row.kind);
    std::vector<std::string> rest;
    for (const std::string& kind : kinds)
        if (!kept.contains(kind)) rest.push_back(kind);
    return rest;
}

std::vector<Due> find_due(db::Transaction& tx, std::string_view due_sql, Time now,
                          std::int64_t rows_max) {
    return due_columns.rows(tx.run(due_sql, now, rows_max));
}

std::optional<Task> take_lease(db::Transaction& tx, const Due& due, TaskId lease, Time until) {
    auto taken = tx.fetch_one(take_lease_sql, due.task_id, lease, until, due.lease_until);
    if (!taken) return std::nullopt;
    return Task{.id = due.task_id,
                .kind = std::move(taken->kind),
                .payload = std::move(taken->payload),
                .attempt = taken->attempts};
}

std::optional<TaskRow> find_task(db::Transaction& tx, TaskId id) {
    return tx.fetch_one(find_task_sql, id);
}

std::vector<TaskRow> list_tasks(db::Transaction& tx, const std::optional<TaskState>& state,
                                const std::optional<TaskId>& before, std::int64_t rows_max) {
    return tx.fetch(list_tasks_sql, before, state, rows_max);
}

bool revive_task(db::Transaction& tx, TaskId id, Time now) {
    return tx.run(revive_sql, id, now).affected == 1;
}

bool drop_task(db::Transaction& tx, TaskId id) { return tx.run(drop_sql, id).affected == 1; }

bool extend_lease(db::Transaction& tx, const Lease& lease, Time until) {
    return tx.run(extend_lease_sql, lease.task, lease.lease, until).affected == 1;
}

bool end_task(db::Transaction& tx, const Lease& lease) {
    return tx.run(end_sql, lease.task, lease.lease).affected == 1;
}

bool repeat_task(db::Transaction& tx, const Lease& lease, Time run_at) {
    return tx.run(repeat_sql, lease.task, lease.lease, run_at).affected == 1;
}

bool postpone_task(db::Transaction& tx, const Lease& lease, Time run_at, std::string_view why) {
    return tx.run(postpone_sql, lease.task, lease.lease, run_at, why).affected == 1;
}

bool return_task(db::Transaction& tx, const Lease& lease, Time run_at) {
    return tx.run(return_sql, lease.task, lease.lease, run_at).affected == 1;
}

bool bury_task(db::Transaction& tx, const Lease& lease, std::string_view why) {
    return tx.run(bury_sql, lease.task, lease.lease, why).affected == 1;
}

}  // namespace berth::worker
