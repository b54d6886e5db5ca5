// All SQL of the tasks table.
#pragma once

#include "worker/worker.hpp"

namespace berth::worker {

struct Due {
    TaskId task_id;
    Time lease_until;  // as seen; a claim succeeds only if it is still so
};
BOOST_DESCRIBE_STRUCT(Due, (), (task_id, lease_until))

// The statement that finds due tasks of these kinds and no others, whoever declared those. Its text
// lives as long as the program, as statements must.
std::string_view due_statement(const std::vector<std::string>& kinds);
// Tasks that may run now, longest due first.
std::vector<Due> find_due(db::Transaction& tx, std::string_view due_sql, Time now,
                          std::int64_t rows_max);

std::string recurring_key(std::string_view kind);  // the unique_key of a task that comes again
// Which of these kinds, that come again by themselves, no worker of any process looks after: nobody
// planted them, or they are due since before this time and nobody is at work on them.
std::vector<std::string> neglected(db::Transaction& tx, const std::vector<std::string>& kinds,
                                   Time due_since);
// Whether the task of this kind is there, and so neglected.
bool is_overdue(db::Transaction& tx, std::string_view kind, Time due_since);

// For people who look after the worker.
enum class TaskState { waiting, dead };
BOOST_DESCRIBE_ENUM(TaskState, waiting, dead)
struct TaskRow {
    TaskId task_id;
    std::string kind;
    TaskState state = TaskState::waiting;
    std::int64_t attempts = 0;
    Time run_at;
    Time created_at;
    std::optional<std::string> last_error = {};
};
BOOST_DESCRIBE_STRUCT(TaskRow, (), (task_id, kind, state, attempts, run_at, created_at, last_error))
std::optional<TaskRow> find_task(db::Transaction& tx, TaskId id);
// Newest first.
std::vector<TaskRow> list_tasks(db::Transaction& tx, const std::optional<TaskState>& state,
                                const std::optional<TaskId>& before, std::int64_t rows_max);
// Both are true for the one caller that finds the task dead.
bool revive_task(db::Transaction& tx, TaskId id, Time now);
bool drop_task(db::Transaction& tx, TaskId id);

struct Lease {
    TaskId task;
    TaskId lease;
};

// Takes the lease and counts the attempt; empty when somebody else was quicker.
std::optional<Task> take_lease(db::Transaction& tx, const Due& due, TaskId lease, Time until);
// Each of these changes nothing and says false when the lease is not ours.
bool extend_lease(db::Transaction& tx, const Lease& lease, Time until);
bool end_task(db::Transaction& tx, const Lease& lease);
bool repeat_task(db::Transaction& tx, const Lease& lease, Time run_at);
bool postpone_task(db::Transaction& tx, const Lease& lease, Time run_at, std::string_view why);
// Gives the lease back as if it had never been taken.
bool return_task(db::Transaction& tx, const Lease& lease, Time run_at);
bool bury_task(db::Transaction& tx, const Lease& lease, std::string_view why);

}  // namespace berth::worker
