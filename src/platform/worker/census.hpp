// What operators watch of background work.
#pragma once

#include "db/census.hpp"

namespace berth::worker {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_tasks",
     .help = "Tasks that wait or run.",
     .by = "kind",
     .from = "tasks",
     .where = "state = 'waiting'"},
    {.name = "berth_tasks_dead",
     .help = "Tasks that were given up and wait for an operator.",
     .by = "kind",
     .from = "tasks",
     .where = "state = 'dead'"},
    {.name = "berth_tasks_oldest_due_seconds",
     .help = "For how long a task has waited for a worker.",
     .by = "kind",
     .from = "tasks",
     .where = "state = 'waiting' AND run_at <= $1 AND lease_until <= $1",
     .amount = "CAST(($1 - MIN(CASE WHEN lease_until > run_at THEN lease_until ELSE run_at END)) "
               "/ 1000000 AS BIGINT)",
     .at_time = true},
};

}  // namespace berth::worker
