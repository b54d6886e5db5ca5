// Tests of machines as rows: one for each that was begun, with its result.
#pragma once

#include "machines/judge.hpp"

namespace berth::machines {

enum class RunState { sent, dialling, passed, failed };
BOOST_DESCRIBE_ENUM(RunState, sent, dialling, passed, failed)
// The states of a test that is not over.
inline constexpr std::array open_run_states{RunState::sent, RunState::dialling};

struct Run {
    RunId run_id;
    MachineId machine_id;
    RunState state = RunState::sent;
    std::string manifest_hash;
    std::string seed;
    std::string endpoint_token;
    std::optional<std::string> endpoint_host;
    std::optional<std::int64_t> endpoint_port;
    bool gate_offered = false;             // the agent was told that it may ask for a door
    std::optional<std::string> door_host;  // of a gate, as the agent names it
    std::optional<std::int64_t> door_port;
    Time started_at;
    Time deadline_at;
    std::optional<Time> finished_at;
    std::optional<std::string> result_hash;   // of the result as the agent sent it
    std::optional<std::string> measurements;  // JSON, like the two below
    std::optional<std::string> checks;
    std::optional<std::string> findings;
};
BOOST_DESCRIBE_STRUCT(Run, (),
                      (run_id, machine_id, state, manifest_hash, seed, endpoint_token,
                       endpoint_host, endpoint_port, gate_offered, door_host, door_port, started_at,
                       deadline_at, finished_at, result_hash, measurements, checks, findings))

void add_run(db::Transaction& tx, const Run& run);
void save_run(db::Transaction& tx, const Run& run);
std::optional<Run> find_run(db::Transaction& tx, RunId id);
std::optional<Run> find_last_run(db::Transaction& tx, MachineId machine);

// Takes back QUALIFY commands that still wait for the machine.
void end_test_commands(db::Transaction& tx, MachineId machine);

// For the worker: at most `rows_max` of each. Tests that are past their deadline:
std::vector<RunId> find_overdue_runs(db::Transaction& tx, Time now, std::int64_t rows_max);
// Machines that wait for a test and whose agent was heard lately.
std::vector<MachineId> find_untested(db::Transaction& tx, Time now, std::int64_t rows_max);
// Machines that their owners want listed, that are not, and whose agent was heard lately.
std::vector<MachineId> find_unadmitted(db::Transaction& tx, Time now, MachineId after,
                                       std::int64_t rows_max);
// Machines whose agent was told to clean and has not attested it in time.
std::vector<MachineId> find_uncleaned(db::Transaction& tx, Time now, std::int64_t rows_max);
// Deletes tests that began before this and are over, but for each machine's newest. Returns how
// many.
std::int64_t prune_runs(db::Transaction& tx, Time before, std::int64_t rows_max);

}  // namespace berth::machines
