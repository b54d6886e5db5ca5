// SQL that only machines itself uses. Functions that other features use as well are declared with
// their subject (machine.hpp, commands.hpp, figures.hpp,
// qualification_runs.hpp). All of it is written in store*.cpp, and the tables in schema.cpp.
#pragma once

#include <span>

#include "machines/commands.hpp"
#include "machines/figures.hpp"
#include "machines/machine_cache.hpp"

namespace berth::machines {

// What is remembered of machines (store.cpp)

// The facts of a machine that is not retired.
std::optional<MachineFacts> find_facts(db::Transaction& tx, MachineId id);
// The facts of machines that were changed since then, retired ones too; the oldest change first.
std::vector<MachineFacts> find_changed_facts(db::Transaction& tx, Time since,
                                             std::int64_t rows_max);
// Writes signs of life, many rows by one statement. The rows must be in the order of their ids, so
// that two processes that write the same ones cannot block each other.
void note_heard_of(db::Transaction& tx, std::span<const Heard* const> rows);

// What happened to machines and is kept (store.cpp)

struct MachineEventRow {
    MachineEventId event_id;
    MachineId machine_id;
    std::string kind;  // of a health event, or QUARANTINED
    Time at;
    std::string detail;  // JSON of a health event, the cause of a quarantine
};
BOOST_DESCRIBE_STRUCT(MachineEventRow, (), (event_id, machine_id, kind, at, detail))
inline constexpr std::string_view quarantined_kind = "QUARANTINED";
inline constexpr std::string_view put_aside_kind = "PUT_ASIDE";  // the same, by nobody's fault

// An event with this id that is there already stays as it is.
void add_machine_event(db::Transaction& tx, const MachineEventRow& row);
std::int64_t count_machine_events(db::Transaction& tx, MachineId machine, std::string_view kind,
                                  Time after);

// Tokens by which machines come in (store.cpp)

struct EnrollmentRow {
    EnrollmentId enrollment_id;
    AccountId owner;
    Tier tier = Tier::container;
    std::optional<std::string> label;
    Time expires_at;
    std::optional<Time> used_at;
    std::optional<MachineId> machine_id;
    // What the machine's first offer is to be (offer_side.hpp); without a price there is none.
    std::optional<Micro> rate_micro_per_hour;
    std::optional<std::int64_t> included_disk_gib;
    std::optional<std::int64_t> included_egress_gib;
    std::optional<std::int64_t> available_days;
    bool wants_listing = false;
};
BOOST_DESCRIBE_STRUCT(EnrollmentRow, (),
                      (enrollment_id, owner, tier, label, expires_at, used_at, machine_id,
                       rate_micro_per_hour, included_disk_gib, included_egress_gib, available_days,
                       wants_listing))

void add_enrollment(const db::Context& context, const EnrollmentRow& row, const Bytes& token_hash);
std::optional<EnrollmentRow> find_enrollment(db::Transaction& tx, const Bytes& token_hash);
std::optional<EnrollmentRow> find_enrollment(db::Transaction& tx, EnrollmentId id);
// False when the token was used before: of two machines that come with one token, one is refused.
bool use_enrollment(const db::Context& context, EnrollmentId id, MachineId machine);
// Deletes tokens that expired before this. Returns how many.
std::int64_t prune_enrollments_before(db::Transaction& tx, Time before, std::int64_t rows_max);

// Commands, and the keys that agents have pinned (store_commands.cpp)

void add_command(db::Transaction& tx, const CommandRow& row);
// The commands that wait for the machine, oldest first.
std::optional<CommandRow> find_newest_command(db::Transaction& tx, MachineId machine,
                                              CommandKind kind, JobId job);
std::vector<CommandRow> find_waiting_commands(db::Transaction& tx, MachineId machine, Time now,
                                              std::int64_t rows_max);
// Marks all commands that wait for the machine as delivered.
void note_delivered(db::Transaction& tx, MachineId machine, Time now);
struct SealedCommand {
    CommandId command_id;
    Bytes payload;
};
BOOST_DESCRIBE_STRUCT(SealedCommand, (), (command_id, payload))
std::vector<SealedCommand> find_sealed_commands(db::Transaction& tx, CommandId after,
                                                std::int64_t rows_max);
void set_sealed_payload(db::Transaction& tx, CommandId id, const Bytes& payload);
// None for a machine that has pinned command.key, the first one.
std::optional<std::string> find_pinned_key(db::Transaction& tx, MachineId machine);
// Machines that have not pinned this key and are not being told of it.
std::vector<MachineId> find_without_key(db::Transaction& tx, std::string_view key_id, Time now,
                                        std::int64_t rows_max);

// Figures (store_figures.cpp)

// Writes the figures and when to count again, unless the machine became due again since `seen` was
// read. set_next_count() is for figures that have not changed: the row's version stays.
void save_counted(const db::Context& context, const Uncounted& seen, const Figures& counted,
                  Time next);
void set_next_count(db::Transaction& tx, const Uncounted& seen, Time next);
struct UptimeSamples {
    MachineId machine_id;
    std::int64_t samples = 0;
    std::int64_t heard = 0;  // those at which the machine was there
};
BOOST_DESCRIBE_STRUCT(UptimeSamples, (), (machine_id, samples, heard))
// The samples since that day of the machines that find_uncounted() gives for the same arguments.
std::vector<UptimeSamples> find_uptime_samples(db::Transaction& tx, std::int64_t after_day,
                                               Time now, std::int64_t rows_max);
// Machines that are not retired, by id.
std::vector<MachineId> find_page(db::Transaction& tx, MachineId after, std::int64_t rows_max);
// Adds a sample to the day of each machine after `after` up to `last` that was not sampled since
// `not_since`.
struct UptimeSampling {
    std::int64_t day = 0;
    Time heard_after;  // who was heard after this is there
    Time at;
    Time not_since;
};
void add_uptime_samples(db::Transaction& tx, const UptimeSampling& sampling, MachineId after,
                        MachineId last);
// All samples of a machine since that day.
DaySamples find_day_samples(db::Transaction& tx, MachineId id, std::int64_t after_day);
std::int64_t prune_days_until(db::Transaction& tx, std::int64_t day, std::int64_t rows_max);

}  // namespace berth::machines
