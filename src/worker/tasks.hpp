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
