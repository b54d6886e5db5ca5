#include "machines/qualification_runs.hpp"

#include "db/name_list.hpp"
#include "machines/states.hpp"

namespace berth::machines {
namespace {

const db::Query<Run> add_run_sql("INSERT INTO machine_runs ({}) VALUES ({$})");
const db::Query<Run> save_run_sql("UPDATE machine_runs SET {=} WHERE run_id = $1");
const db::Query<Run> find_run_sql("SELECT {} FROM machine_runs WHERE run_id = $1");
const db::Query<Run> last_sql(
    "SELECT {} FROM machine_runs WHERE machine_id = $1 ORDER BY run_id DESC LIMIT 1");
const std::string overdue_sql = "SELECT run_id FROM machine_runs WHERE state IN " +
                                db::name_list(open_run_states) +
                                " AND deadline_at <= $1 ORDER BY deadline_at LIMIT $2";
// Heartbeats are written in batches and a machine that is away waits, so the two are joined here.
const std::string untested_sql =
    "SELECT m.machine_id FROM machines AS m "
    "JOIN machine_health AS h ON h.machine_id = m.machine_id "
    "WHERE m.qualify_next_at IS NOT NULL AND m.qualify_next_at <= $1 AND m.retired_at IS NULL "
    "AND m.state IN " +
    db::name_list(testable_states) +
    " AND h.last_healthy_at > $2 "
    "ORDER BY m.machine_id LIMIT $3";
constexpr std::string_view unadmitted_sql =
    "SELECT m.machine_id FROM machines AS m "
    "JOIN machine_health AS h ON h.machine_id = m.machine_id "
    "WHERE m.state = 'UNLISTED' AND m.offer_state = 'listed' AND m.retired_at IS NULL "
    "AND m.qualify_state = 'passed' AND h.last_healthy_at > $1 AND m.machine_id > $2 "
    "ORDER BY m.machine_id LIMIT $3";
constexpr std::string_view uncleaned_sql =
    "SELECT machine_id FROM machines WHERE clean_deadline IS NOT NULL AND retired_at IS NULL "
    "AND clean_deadline <= $1 ORDER BY clean_deadline LIMIT $2";
// The newest of a machine is what its owner is shown.
constexpr std::string_view prune_runs_sql =
    "DELETE FROM machine_runs WHERE run_id IN ("
    "  SELECT r.run_id FROM machine_runs AS r WHERE r.started_at < $1 "
    "  AND r.finished_at IS NOT NULL AND EXISTS (SELECT 1 FROM machine_runs AS later "
    "    WHERE later.machine_id = r.machine_id AND later.run_id > r.run_id) "
    "  ORDER BY r.started_at LIMIT $2)";
constexpr std::string_view end_commands_sql =
    "UPDATE machine_commands SET state = 'completed' "
    "WHERE machine_id = $1 AND kind = 'QUALIFY' AND state = 'queued'";

}  // namespace

void add_run(db::Transaction& tx, const Run& run) { tx.insert(add_run_sql, run); }
void save_run(db::Transaction& tx, const Run& run) { tx.insert(save_run_sql, run); }

std::optional<Run> find_run(db::Transaction& tx, RunId id) {
    return tx.fetch_one(find_run_sql, id);
}

std::optional<Run> find_last_run(db::Transaction& tx, MachineId machine) {
    return tx.fetch_one(last_sql, machine);
}

std::vector<RunId> find_overdue_runs(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch_values<RunId>(overdue_sql, now, rows_max);
}

std::vector<MachineId> find_untested(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(untested_sql, now, now - heartbeat_fresh, rows_max);
}

std::vector<MachineId> find_unadmitted(db::Transaction& tx, Time now, MachineId after,
                                       std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(unadmitted_sql, now - heartbeat_fresh, after, rows_max);
}

std::vector<MachineId> find_uncleaned(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(uncleaned_sql, now, rows_max);
}

std::int64_t prune_runs(db::Transaction& tx, Time before, std::int64_t rows_max) {
    return tx.run(prune_runs_sql, before, rows_max).affected;
}

void end_test_commands(db::Transaction& tx, MachineId machine) {
    tx.run(end_commands_sql, machine);
}

}  // namespace berth::machines
