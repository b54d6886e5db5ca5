#include "machines/store.hpp"

#include "db/name_list.hpp"

namespace berth::machines {
namespace {

// Commands are kept for as long as anybody may ask how a job came to its end.
constexpr Duration commands_kept = std::chrono::hours(24 * 30);
constexpr std::int64_t machines_told_max = 10'000;

constexpr std::string_view add_command_sql =
    "INSERT INTO machine_commands (command_id, machine_id, kind, job_id, fence, lease_seq, "
    "payload, issued_at, expires_at, state) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued')";
const db::Query<CommandRow> waiting_sql(
    "SELECT {} FROM machine_commands WHERE machine_id = $1 AND state = 'queued' "
    "AND expires_at > $2 ORDER BY command_id LIMIT $3");
const db::Query<CommandRow> find_command_sql(
    "SELECT {} FROM machine_commands WHERE command_id = $1 AND machine_id = $2");
const db::Query<CommandRow> newest_sql(
    "SELECT {} FROM machine_commands WHERE job_id = $1 AND machine_id = $2 AND kind = $3 "
    "ORDER BY command_id DESC LIMIT 1");
const std::string has_sql =
    "SELECT 1 FROM machine_commands WHERE job_id = $1 AND machine_id = $2 AND kind = $3 "
    "AND state IN " +
    db::name_list(standing_command_states) + " AND expires_at > $4 LIMIT 1";
constexpr std::string_view deliver_sql =
    "UPDATE machine_commands SET delivered_at = $2 WHERE machine_id = $1 AND state = 'queued' "
    "AND expires_at > $2 AND delivered_at IS NULL";
constexpr std::string_view is_delivered_sql =
    "SELECT 1 FROM machine_commands WHERE job_id = $1 AND machine_id = $2 AND kind = $3 "
    "AND delivered_at IS NOT NULL LIMIT 1";
constexpr std::string_view set_state_sql =
    "UPDATE machine_commands SET state = $2, result = $3 WHERE command_id = $1";
constexpr std::string_view cancel_sql =
    "UPDATE machine_commands SET state = 'cancelled' WHERE machine_id = $1 AND state = 'queued'";
constexpr std::string_view cancel_of_job_sql =
    "UPDATE machine_commands SET state = 'cancelled' WHERE machine_id = $1 AND state = 'queued' "
    "AND job_id = $2";
constexpr std::string_view machines_sql =
    "SELECT DISTINCT machine_id FROM machine_commands WHERE state = 'queued' AND expires_at > $1 "
    "ORDER BY machine_id LIMIT $2";
constexpr std::string_view expire_sql =
    "UPDATE machine_commands SET state = 'expired' WHERE command_id IN ("
    "  SELECT command_id FROM machine_commands WHERE state = 'queued' AND expires_at <= $1 "
    "  ORDER BY command_id LIMIT $2)";
constexpr std::string_view delete_sql =
    "DELETE FROM machine_commands WHERE command_id IN ("
    "  SELECT command_id FROM machine_commands WHERE expires_at <= $1 "
    "  ORDER BY command_id LIMIT $2)";

const db::Query<SealedCommand> sealed_sql(
    "SELECT {} FROM machine_commands WHERE command_id > $1 ORDER BY command_id LIMIT $2");
constexpr std::string_view set_payload_sql =
    "UPDATE machine_commands SET payload = $2 WHERE command_id = $1";

constexpr std::string_view pin_sql =
    "INSERT INTO machine_pins (machine_id, key_id) VALUES ($1, $2) "
    "ON CONFLICT (machine_id) DO UPDATE SET key_id = excluded.key_id";
constexpr std::string_view pinned_sql = "SELECT key_id FROM machine_pins WHERE machine_id = $1";
constexpr std::string_view without_key_sql =
    "SELECT m.machine_id FROM machines AS m "
    "LEFT JOIN machine_pins AS p ON p.machine_id = m.machine_id "
    "WHERE m.retired_at IS NULL AND (p.key_id IS NULL OR p.key_id <> $1) "
    "AND NOT EXISTS (SELECT 1 FROM machine_commands AS c WHERE c.machine_id = m.machine_id "
    "  AND c.kind = 'SERVER_KEY' AND c.state = 'queued' AND c.expires_at > $2) "
    "ORDER BY m.machine_id LIMIT $3";
}  // namespace

void add_command(db::Transaction& tx, const CommandRow& row) {
    tx.run(add_command_sql, row.command_id, row.machine_id, row.kind, row.job_id, row.fence,
           row.lease_seq, db::Blob{row.payload}, row.issued_at, row.expires_at);
}

std::vector<CommandRow> find_waiting_commands(db::Transaction& tx, MachineId machine, Time now,
                                              std::int64_t rows_max) {
    return tx.fetch(waiting_sql, machine, now, rows_max);
}

void note_delivered(db::Transaction& tx, MachineId machine, Time now) {
    tx.run(deliver_sql, machine, now);
}

std::vector<SealedCommand> find_sealed_commands(db::Transaction& tx, CommandId after,
                                                std::int64_t rows_max) {
    return tx.fetch(sealed_sql, after, rows_max);
}

void set_sealed_payload(db::Transaction& tx, CommandId id, const Bytes& payload) {
    tx.run(set_payload_sql, id, db::Blob{payload});
}

void pin_key(db::Transaction& tx, MachineId machine, std::string_view key_id) {
    tx.run(pin_sql, machine, key_id);
}

std::optional<std::string> find_pinned_key(db::Transaction& tx, MachineId machine) {
    return tx.fetch_value<std::string>(pinned_sql, machine);
}

std::vector<MachineId> find_without_key(db::Transaction& tx, std::string_view key_id, Time now,
                                        std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(without_key_sql, key_id, now, rows_max);
}

std::optional<CommandRow> find_command(db::Transaction& tx, MachineId machine, CommandId id) {
    return tx.fetch_one(find_command_sql, id, machine);
}

std::optional<CommandRow> find_newest_command(db::Transaction& tx, MachineId machine,
                                              CommandKind kind, JobId job) {
    return tx.fetch_one(newest_sql, job, machine, enum_name(kind));
}

bool has_command(db::Transaction& tx, MachineId machine, CommandKind kind, JobId job, Time now) {
    return !tx.run(has_sql, job, machine, enum_name(kind), now).empty();
}

bool is_delivered(db::Transaction& tx, MachineId machine, CommandKind kind, JobId job) {
    return !tx.run(is_delivered_sql, job, machine, enum_name(kind)).empty();
}

void set_command_state(db::Transaction& tx, CommandId id, CommandState state,
                       const std::optional<std::string>& result) {
    tx.run(set_state_sql, id, state, result);
}

void cancel_commands(db::Transaction& tx, MachineId machine) { tx.run(cancel_sql, machine); }

void cancel_commands(db::Transaction& tx, MachineId machine, JobId job) {
    tx.run(cancel_of_job_sql, machine, job);
}

std::vector<MachineId> machines_with_commands(db::Transaction& tx, Time now) {
    return tx.fetch_values<MachineId>(machines_sql, now, machines_told_max);
}

std::int64_t sweep_commands(db::Transaction& tx, Time now, std::int64_t rows_max) {
    const auto expired = tx.run(expire_sql, now, rows_max).affected;
    const auto deleted = tx.run(delete_sql, now - commands_kept, rows_max).affected;
    return expired + deleted;
}

}  // namespace berth::machines
