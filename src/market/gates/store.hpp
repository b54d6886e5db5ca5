// All rows of gates, and the statements that only this folder uses.
#pragma once

#include <map>

#include "db/migrate.hpp"
#include "gates/gates.hpp"
#include "gates/operate.hpp"
#include "machines/gate_side.hpp"

namespace berth::gates {

using machines::RunId;

struct BootRow {
    GateId gate_id;
    std::string boot_id;
    Time started_at;
    std::optional<Time> heard_at;
    bool draining = false;
};
BOOST_DESCRIBE_STRUCT(BootRow, (), (gate_id, boot_id, started_at, heard_at, draining))

struct DoorRow {
    DoorId door_id;
    MachineId machine_id;
    std::optional<JobId> job_id;
    std::optional<RunId> run_id;
    std::string name;
    DoorKind kind = DoorKind::http;
    std::optional<AccountId> account;
    GateId gate_id;
    std::int64_t port = 0;
    Time given_at;
    std::optional<Time> freed_at;
    std::optional<std::string> linked_boot;
    std::optional<Time> uncarried_since;
};
BOOST_DESCRIBE_STRUCT(DoorRow, (),
                      (door_id, machine_id, job_id, run_id, name, kind, account, gate_id, port,
                       given_at, freed_at, linked_boot, uncarried_since))

struct UsageRow {
    DoorId door_id;
    std::string boot_id;
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;
    std::int64_t streams = 0;
};
BOOST_DESCRIBE_STRUCT(UsageRow, (), (door_id, boot_id, bytes_in, bytes_out, streams))

struct GapRow {
    DoorId door_id;
    Time from_at;
    Time to_at;
};
BOOST_DESCRIBE_STRUCT(GapRow, (), (door_id, from_at, to_at))

struct OutageRow {
    Time from_at;
    Time to_at;
};
BOOST_DESCRIBE_STRUCT(OutageRow, (), (from_at, to_at))

struct DayBytes {
    std::int64_t of_job = 0;
    std::int64_t of_account = 0;
};

struct GateLoad {
    GateId gate_id;
    std::int64_t amount = 0;
};
BOOST_DESCRIBE_STRUCT(GateLoad, (), (gate_id, amount))

// ---- Gates and their processes

std::optional<GateRow> find_gate(db::Transaction& tx, GateId id);  // not one that was removed
std::optional<GateRow> find_known_gate(db::Transaction& tx, GateId id);
std::vector<GateRow> list_gates(db::Transaction& tx);
std::vector<GateRow> list_live_gates(db::Transaction& tx, Time now);
void put_gate(db::Transaction& tx, const GateRow& gate);
// Of reports: they follow one another for each gate.
bool hold_gate(db::Transaction& tx, GateId id);
struct Heard {
    Time at;
    bool draining = false;
    std::int64_t bytes_in = 0;  // since the report before
    std::int64_t bytes_out = 0;
};
void note_heard(db::Transaction& tx, GateId id, const Heard& heard);

// The process as it was before this report; a new one has not been heard.
BootRow find_or_add_boot(db::Transaction& tx, const BootRow& boot);
std::vector<BootRow> boots_of_gate(db::Transaction& tx, GateId id);
std::vector<BootRow> boots_of_job(db::Transaction& tx, JobId job);
void note_boot_heard(db::Transaction& tx, const BootRow& boot, Time now);

// ---- Doors and ports

std::vector<DoorRow> open_doors_of_machine(db::Transaction& tx, MachineId machine);
std::vector<DoorRow> open_doors_of_gate(db::Transaction& tx, GateId gate);
std::vector<DoorRow> doors_freed_since(db::Transaction& tx, GateId gate, Time since);
// Whose machine has another job or test by now, or none.
std::vector<DoorRow> stray_doors_of_gate(db::Transaction& tx, GateId gate);
std::vector<DoorRow> all_doors_of_job(db::Transaction& tx, JobId job);
// The door of this name, taken back or not.
std::optional<DoorRow> find_named(db::Transaction& tx, const std::optional<JobId>& job,
                                  const std::optional<RunId>& run, std::string_view name);
std::int64_t count_names(db::Transaction& tx, const std::optional<JobId>& job,
                         const std::optional<RunId>& run);
void add_door(db::Transaction& tx, const DoorRow& door);
void save_door(db::Transaction& tx, const DoorRow& door);
// The gate's word on a link, of a door that is still there.
void link_door(db::Transaction& tx, const DoorRow& door, std::string_view boot);
void unlink_door(db::Transaction& tx, const DoorRow& door, std::string_view boot, Time since);
// Another process answers for the link from now on.
void hand_over_door(db::Transaction& tx, const DoorRow& door, std::string_view from,
                    std::string_view to);

// Takes the port for this door; false when another has it or it rests.
bool claim_port(db::Transaction& tx, const DoorRow& door, Time rested_since);
void free_port(db::Transaction& tx, const DoorRow& door, Time now);
std::vector<std::int64_t> ports_in_use(db::Transaction& tx, GateId gate, Time rested_since);
std::map<GateId, std::int64_t> count_doors(db::Transaction& tx);
std::map<GateId, std::int64_t> count_streams(db::Transaction& tx, Time heard_since);

// Where the operator says that the door of a test is dialled; nothing when it is not that.
std::optional<std::string> dial_host_of_test(db::Transaction& tx, const machines::TestDoor& door);

std::int64_t next_serial(db::Transaction& tx, MachineId machine, Time now);
std::optional<Time> find_moved_at(db::Transaction& tx, MachineId machine);
void note_moved(db::Transaction& tx, MachineId machine, Time now);

// ---- Bytes

std::vector<UsageRow> usage_of_boot(db::Transaction& tx, GateId gate, std::string_view boot);
void put_usage(db::Transaction& tx, const UsageRow& usage);
struct DayUse {
    JobId job_id;
    std::int64_t day = 0;
    std::optional<AccountId> account = {};
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;
};
void add_to_day(db::Transaction& tx, const DayUse& use);
DayBytes bytes_of_day(db::Transaction& tx, JobId job, const std::optional<AccountId>& account,
                      std::int64_t day);

// ---- What was not carried

void add_gap(db::Transaction& tx, const GapRow& gap);
std::vector<GapRow> stored_gaps_of_job(db::Transaction& tx, JobId job);
std::vector<OutageRow> outages_since(db::Transaction& tx, Time since);
// When the last outage ended; the beginning of time when there was none.
Time hearing_since(db::Transaction& tx);

}  // namespace berth::gates
