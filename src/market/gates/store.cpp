#include "gates/store.hpp"

#include "gates/keeping.hpp"

namespace berth::gates {
namespace {

constexpr Duration doors_kept = std::chrono::hours(24 * 30);
constexpr Duration boots_kept = std::chrono::hours(24 * 7);
constexpr Duration outages_kept = std::chrono::hours(24 * 90);
// However long a gate lies, sums of what it said stay numbers: 100 Gbit/s make a PiB a day.
constexpr std::int64_t day_bytes_max = std::int64_t{1} << 50;
constexpr std::int64_t gate_bytes_max = std::int64_t{1} << 62;

const db::Query<GateRow> find_gate_sql(
    "SELECT {} FROM gates WHERE gate_id = $1 AND removed_at IS NULL");
const db::Query<GateRow> find_known_gate_sql("SELECT {} FROM gates WHERE gate_id = $1");
const db::Query<GateRow> list_gates_sql(
    "SELECT {} FROM gates WHERE removed_at IS NULL ORDER BY gate_id");
const db::Query<GateRow> live_gates_sql(
    "SELECT {} FROM gates WHERE heard_at >= $1 AND draining = 0 AND drained_at IS NULL "
    "AND removed_at IS NULL ORDER BY gate_id");
constexpr std::string_view any_live_sql =
    "SELECT port FROM (SELECT link_port AS port FROM gates WHERE heard_at >= $1 AND draining = 0 "
    "AND drained_at IS NULL AND removed_at IS NULL LIMIT 1) AS live";
const db::Query<GateRow> put_gate_sql(
    "INSERT INTO gates ({}) VALUES ({$}) ON CONFLICT (gate_id) DO UPDATE SET "
    "host = excluded.host, dial_host = excluded.dial_host, link_port = excluded.link_port, "
    "call_port = excluded.call_port, ports_from = excluded.ports_from, "
    "ports_to = excluded.ports_to, continent = excluded.continent, "
    "public_key = excluded.public_key, tls_key_sha256 = excluded.tls_key_sha256, "
    "drained_at = excluded.drained_at, removed_at = excluded.removed_at");
constexpr std::string_view hold_gate_sql =
    "UPDATE gates SET draining = draining WHERE gate_id = $1 AND removed_at IS NULL";
constexpr std::string_view note_heard_sql =
    "UPDATE gates SET heard_at = $2, draining = $3, "
    "bytes_in = CASE WHEN bytes_in - $6 + $4 < 0 THEN bytes_in + $4 ELSE $6 END, "
    "bytes_out = CASE WHEN bytes_out - $6 + $5 < 0 THEN bytes_out + $5 ELSE $6 END "
    "WHERE gate_id = $1";

const db::Query<BootRow> find_or_add_boot_sql(
    "INSERT INTO gate_boots ({}) VALUES ({$}) ON CONFLICT (gate_id, boot_id) DO UPDATE SET "
    "started_at = gate_boots.started_at RETURNING {}");
const db::Query<BootRow> boots_of_gate_sql(
    "SELECT {} FROM gate_boots WHERE gate_id = $1 ORDER BY started_at, boot_id");
const db::Query<BootRow> boots_of_job_sql(
    "SELECT DISTINCT {b.} FROM gate_boots b JOIN gate_doors d ON d.gate_id = b.gate_id "
    "AND d.linked_boot = b.boot_id WHERE d.job_id = $1");
constexpr std::string_view note_boot_heard_sql =
    "UPDATE gate_boots SET heard_at = $3, draining = $4 WHERE gate_id = $1 AND boot_id = $2";

const db::Query<DoorRow> doors_of_machine_sql(
    "SELECT {} FROM gate_doors WHERE machine_id = $1 AND freed_at IS NULL ORDER BY door_id");
const db::Query<DoorRow> doors_of_gate_sql(
    "SELECT {} FROM gate_doors WHERE gate_id = $1 AND freed_at IS NULL ORDER BY door_id");
const db::Query<DoorRow> freed_since_sql(
    "SELECT {} FROM gate_doors WHERE gate_id = $1 AND freed_at > $2 ORDER BY door_id");
// Whose machine has another job or test by now, or none.
const db::Query<DoorRow> strays_sql(
    "SELECT {d.} FROM gate_doors d JOIN machines m ON m.machine_id = d.machine_id "
    "WHERE d.gate_id = $1 AND d.freed_at IS NULL AND (m.retired_at IS NOT NULL "
    "OR (d.job_id IS NOT NULL AND (m.job_id IS NULL OR m.job_id <> d.job_id)) "
    "OR (d.run_id IS NOT NULL AND (m.qualify_run_id IS NULL OR m.qualify_run_id <> d.run_id))) "
    "ORDER BY d.door_id");
const db::Query<DoorRow> doors_of_job_sql(
    "SELECT {} FROM gate_doors WHERE job_id = $1 ORDER BY door_id");
const db::Query<DoorRow> named_of_job_sql(
    "SELECT {} FROM gate_doors WHERE job_id = $1 AND name = $2");
const db::Query<DoorRow> named_of_run_sql(
    "SELECT {} FROM gate_doors WHERE run_id = $1 AND name = $2");
constexpr std::string_view names_of_job_sql = "SELECT COUNT(*) FROM gate_doors WHERE job_id = $1";
constexpr std::string_view names_of_run_sql = "SELECT COUNT(*) FROM gate_doors WHERE run_id = $1";
const db::Query<DoorRow> add_door_sql("INSERT INTO gate_doors ({}) VALUES ({$})");
const db::Query<DoorRow> save_door_sql("UPDATE gate_doors SET {=} WHERE door_id = $1");
constexpr std::string_view link_door_sql =
    "UPDATE gate_doors SET linked_boot = $3, uncarried_since = NULL "
    "WHERE door_id = $1 AND gate_id = $2 AND freed_at IS NULL";
constexpr std::string_view unlink_door_sql =
    "UPDATE gate_doors SET linked_boot = NULL, uncarried_since = $4 "
    "WHERE door_id = $1 AND gate_id = $2 AND linked_boot = $3";
constexpr std::string_view hand_over_sql =
    "UPDATE gate_doors SET linked_boot = $4 "
    "WHERE door_id = $1 AND gate_id = $2 AND linked_boot = $3";

constexpr std::string_view claim_port_sql =
    "INSERT INTO gate_ports (gate_id, port, door_id) VALUES ($1, $2, $3) "
    "ON CONFLICT (gate_id, port) DO UPDATE SET door_id = excluded.door_id, freed_at = NULL "
    "WHERE gate_ports.freed_at IS NOT NULL "
    "AND (gate_ports.freed_at <= $4 OR gate_ports.door_id = excluded.door_id) RETURNING port";
constexpr std::string_view free_port_sql =
    "UPDATE gate_ports SET freed_at = $4 "
    "WHERE gate_id = $1 AND port = $2 AND door_id = $3 AND freed_at IS NULL";
constexpr std::string_view ports_in_use_sql =
    "SELECT port FROM gate_ports WHERE gate_id = $1 AND (freed_at IS NULL OR freed_at > $2)";
const db::Query<GateLoad> count_doors_sql(
    "SELECT {} FROM (SELECT gate_id, COUNT(*) AS amount FROM gate_doors WHERE freed_at IS NULL "
    "GROUP BY gate_id) AS counted");
const db::Query<GateLoad> count_streams_sql(
    "SELECT {} FROM (SELECT d.gate_id AS gate_id, CAST(SUM(u.streams) AS BIGINT) AS amount "
    "FROM gate_usage u JOIN gate_doors d ON d.door_id = u.door_id "
    "JOIN gate_boots b ON b.gate_id = d.gate_id AND b.boot_id = u.boot_id "
    "WHERE d.freed_at IS NULL AND b.heard_at >= $1 GROUP BY d.gate_id) AS counted");

// Never lower than the time, so that it rises also when older books were put back.
constexpr std::string_view next_serial_sql =
    "INSERT INTO gate_machines (machine_id, serial) VALUES ($1, $2) "
    "ON CONFLICT (machine_id) DO UPDATE SET serial = CASE "
    "WHEN gate_machines.serial < excluded.serial THEN excluded.serial "
    "ELSE gate_machines.serial + 1 END RETURNING serial";
constexpr std::string_view moved_at_sql =
    "SELECT moved_at FROM gate_machines WHERE machine_id = $1 AND moved_at IS NOT NULL";
constexpr std::string_view note_moved_sql =
    "INSERT INTO gate_machines (machine_id, serial, moved_at) VALUES ($1, 0, $2) "
    "ON CONFLICT (machine_id) DO UPDATE SET moved_at = excluded.moved_at";

const db::Query<UsageRow> usage_of_boot_sql(
    "SELECT {u.} FROM gate_usage u JOIN gate_doors d ON d.door_id = u.door_id "
    "WHERE d.gate_id = $1 AND u.boot_id = $2");
const db::Query<UsageRow> put_usage_sql(
    "INSERT INTO gate_usage ({}) VALUES ({$}) ON CONFLICT (door_id, boot_id) DO UPDATE SET "
    "bytes_in = excluded.bytes_in, bytes_out = excluded.bytes_out, streams = excluded.streams");
constexpr std::string_view add_to_day_sql =
    "INSERT INTO gate_days (job_id, day, account, bytes_in, bytes_out) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (job_id, day) DO UPDATE SET "
    "bytes_in = CASE WHEN gate_days.bytes_in - $6 + excluded.bytes_in < 0 "
    "THEN gate_days.bytes_in + excluded.bytes_in ELSE $6 END, "
    "bytes_out = CASE WHEN gate_days.bytes_out - $6 + excluded.bytes_out < 0 "
    "THEN gate_days.bytes_out + excluded.bytes_out ELSE $6 END";
constexpr std::string_view day_of_job_sql =
    "SELECT bytes_in + bytes_out FROM gate_days WHERE job_id = $1 AND day = $2";
constexpr std::string_view day_of_account_sql =
    "SELECT CAST(COALESCE(SUM(bytes_in + bytes_out), 0) AS BIGINT) FROM gate_days "
    "WHERE account = $1 AND day = $2";
constexpr std::string_view carried_bytes_sql =
    "SELECT CAST(COALESCE(SUM(bytes_in + bytes_out), 0) AS BIGINT) FROM gate_days "
    "WHERE job_id = $1";

const db::Query<GapRow> add_gap_sql(
    "INSERT INTO gate_gaps ({}) VALUES ({$}) ON CONFLICT (door_id, from_at) DO NOTHING");
const db::Query<GapRow> gaps_of_job_sql(
    "SELECT {g.} FROM gate_gaps g JOIN gate_doors d ON d.door_id = g.door_id "
    "WHERE d.job_id = $1 ORDER BY g.from_at");
const db::Query<OutageRow> outages_since_sql(
    "SELECT {} FROM gate_outages WHERE to_at > $1 ORDER BY from_at");
constexpr std::string_view last_outage_sql =
    "SELECT to_at FROM gate_outages ORDER BY to_at DESC LIMIT 1";
constexpr std::string_view begin_hearing_sql =
    "INSERT INTO gate_hearing (one, alive_at) VALUES (1, $1) ON CONFLICT (one) DO NOTHING";
constexpr std::string_view note_outage_sql =
    "INSERT INTO gate_outages (from_at, to_at) SELECT alive_at, $1 FROM gate_hearing "
    "WHERE one = 1 AND alive_at < $2 ON CONFLICT (from_at) DO NOTHING";
constexpr std::string_view note_alive_sql =
    "UPDATE gate_hearing SET alive_at = $1 WHERE one = 1 AND alive_at < $1";

const db::Query<JobDoor> places_of_job_sql(
    "SELECT {} FROM (SELECT d.door_id, d.gate_id, d.name, d.kind, g.host, g.dial_host, d.port "
    "FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE d.job_id = $1 AND d.freed_at IS NULL) AS placed ORDER BY door_id");
constexpr std::string_view heard_gate_sql =
    "SELECT d.port FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE d.job_id = $1 AND g.heard_at >= $2 AND g.removed_at IS NULL LIMIT 1";
const db::Query<JobDoor> place_of_name_sql(
    "SELECT {} FROM (SELECT d.door_id, d.gate_id, d.name, d.kind, g.host, g.dial_host, d.port "
    "FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE d.job_id = $1 AND d.name = $2 AND d.freed_at IS NULL) AS placed");
const db::Query<JobDoor> place_of_door_sql(
    "SELECT {} FROM (SELECT d.door_id, d.gate_id, d.name, d.kind, g.host, g.dial_host, d.port "
    "FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE d.door_id = $1 AND d.freed_at IS NULL) AS placed");
const db::Query<JobDoor> place_named_sql(
    "SELECT {} FROM (SELECT d.door_id, d.gate_id, d.name, d.kind, g.host, g.dial_host, d.port "
    "FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE d.job_id = $1 AND d.machine_id = $2 AND d.name = $3 AND g.host = $4 AND d.port = $5 "
    "AND d.freed_at IS NULL) AS placed");
constexpr std::string_view any_door_sql =
    "SELECT d.port FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE (g.host = $1 OR g.dial_host = $1) AND d.port = $2 AND d.freed_at IS NULL LIMIT 1";
constexpr std::string_view test_door_sql =
    "SELECT g.dial_host FROM gate_doors d JOIN gates g ON g.gate_id = d.gate_id "
    "WHERE d.run_id = $1 AND d.machine_id = $2 AND g.host = $3 AND d.port = $4 "
    "AND d.freed_at IS NULL";

constexpr std::string_view prune_gaps_sql =
    "DELETE FROM gate_gaps WHERE door_id IN (SELECT door_id FROM gate_doors "
    "WHERE freed_at < $1 ORDER BY freed_at, door_id LIMIT $2)";
constexpr std::string_view prune_usage_sql =
    "DELETE FROM gate_usage WHERE door_id IN (SELECT door_id FROM gate_doors "
    "WHERE freed_at < $1 ORDER BY freed_at, door_id LIMIT $2)";
constexpr std::string_view prune_doors_sql =
    "DELETE FROM gate_doors WHERE door_id IN (SELECT door_id FROM gate_doors "
    "WHERE freed_at < $1 ORDER BY freed_at, door_id LIMIT $2)";
constexpr std::string_view prune_boots_sql = "DELETE FROM gate_boots WHERE heard_at < $1";
constexpr std::string_view prune_outages_sql = "DELETE FROM gate_outages WHERE to_at < $1";

std::map<GateId, std::int64_t> by_gate(const std::vector<GateLoad>& rows) {
    std::map<GateId, std::int64_t> map;
    for (const GateLoad& row : rows) map[row.gate_id] = row.amount;
    return map;
}

constexpr std::string_view door_columns[] = {"gate_id", "port", "freed_at"};
constexpr std::string_view gate_columns[] = {"host", "dial_host", "removed_at"};

}  // namespace

std::optional<GateRow> find_gate(db::Transaction& tx, GateId id) {
    return tx.fetch_one(find_gate_sql, id);
}

std::optional<GateRow> find_known_gate(db::Transaction& tx, GateId id) {
    return tx.fetch_one(find_known_gate_sql, id);
}

std::vector<GateRow> list_gates(db::Transaction& tx) { return tx.fetch(list_gates_sql); }

std::vector<GateRow> list_live_gates(db::Transaction& tx, Time now) {
    return tx.fetch(live_gates_sql, now - gate_fresh);
}

bool is_any_live(db::Transaction& tx, Time now) {
    return tx.fetch_value<std::int64_t>(any_live_sql, now - gate_fresh).has_value();
}

void put_gate(db::Transaction& tx, const GateRow& gate) { tx.insert(put_gate_sql, gate); }

bool hold_gate(db::Transaction& tx, GateId id) { return tx.run(hold_gate_sql, id).affected == 1; }

void note_heard(db::Transaction& tx, GateId id, const Heard& heard) {
    tx.run(note_heard_sql, id, heard.at, heard.draining, heard.bytes_in, heard.bytes_out,
           gate_bytes_max);
}

BootRow find_or_add_boot(db::Transaction& tx, const BootRow& boot) {
    auto row = find_or_add_boot_sql.row(tx.insert(find_or_add_boot_sql, boot));
    require(row.has_value(), "a process of a gate is added or there");
    return std::move(*row);
}

std::vector<BootRow> boots_of_gate(db::Transaction& tx, GateId id) {
    return tx.fetch(boots_of_gate_sql, id);
}

std::vector<BootRow> boots_of_job(db::Transaction& tx, JobId job) {
    return tx.fetch(boots_of_job_sql, job);
}

void note_boot_heard(db::Transaction& tx, const BootRow& boot, Time now) {
    tx.run(note_boot_heard_sql, boot.gate_id, boot.boot_id, now, boot.draining);
}

std::vector<DoorRow> open_doors_of_machine(db::Transaction& tx, MachineId machine) {
    return tx.fetch(doors_of_machine_sql, machine);
}

std::vector<DoorRow> open_doors_of_gate(db::Transaction& tx, GateId gate) {
    return tx.fetch(doors_of_gate_sql, gate);
}

std::vector<DoorRow> doors_freed_since(db::Transaction& tx, GateId gate, Time since) {
    return tx.fetch(freed_since_sql, gate, since);
}

std::vector<DoorRow> stray_doors_of_gate(db::Transaction& tx, GateId gate) {
    return tx.fetch(strays_sql, gate);
}

std::vector<DoorRow> all_doors_of_job(db::Transaction& tx, JobId job) {
    return tx.fetch(doors_of_job_sql, job);
}

std::optional<DoorRow> find_named(db::Transaction& tx, const std::optional<JobId>& job,
                                  const std::optional<RunId>& run, std::string_view name) {
    return job ? tx.fetch_one(named_of_job_sql, *job, name)
               : tx.fetch_one(named_of_run_sql, run.value(), name);
}

std::int64_t count_names(db::Transaction& tx, const std::optional<JobId>& job,
                         const std::optional<RunId>& run) {
    const auto count = job ? tx.fetch_value<std::int64_t>(names_of_job_sql, *job)
                           : tx.fetch_value<std::int64_t>(names_of_run_sql, run.value());
    return count.value_or(0);
}

void add_door(db::Transaction& tx, const DoorRow& door) { tx.insert(add_door_sql, door); }

void save_door(db::Transaction& tx, const DoorRow& door) { tx.insert(save_door_sql, door); }

void link_door(db::Transaction& tx, const DoorRow& door, std::string_view boot) {
    tx.run(link_door_sql, door.door_id, door.gate_id, boot);
}

void unlink_door(db::Transaction& tx, const DoorRow& door, std::string_view boot, Time since) {
    tx.run(unlink_door_sql, door.door_id, door.gate_id, boot, since);
}

void hand_over_door(db::Transaction& tx, const DoorRow& door, std::string_view from,
                    std::string_view to) {
    tx.run(hand_over_sql, door.door_id, door.gate_id, from, to);
}

bool claim_port(db::Transaction& tx, const DoorRow& door, Time rested_since) {
    return tx
        .fetch_value<std::int64_t>(claim_port_sql, door.gate_id, door.port, door.door_id,
                                   rested_since)
        .has_value();
}

void free_port(db::Transaction& tx, const DoorRow& door, Time now) {
    tx.run(free_port_sql, door.gate_id, door.port, door.door_id, now);
}

std::vector<std::int64_t> ports_in_use(db::Transaction& tx, GateId gate, Time rested_since) {
    return tx.fetch_values<std::int64_t>(ports_in_use_sql, gate, rested_since);
}

std::map<GateId, std::int64_t> count_doors(db::Transaction& tx) {
    return by_gate(tx.fetch(count_doors_sql));
}

std::map<GateId, std::int64_t> count_streams(db::Transaction& tx, Time heard_since) {
    return by_gate(tx.fetch(count_streams_sql, heard_since));
}

std::int64_t next_serial(db::Transaction& tx, MachineId machine, Time now) {
    return tx.fetch_value<std::int64_t>(next_serial_sql, machine, now).value();
}

std::optional<Time> find_moved_at(db::Transaction& tx, MachineId machine) {
    return tx.fetch_value<Time>(moved_at_sql, machine);
}

void note_moved(db::Transaction& tx, MachineId machine, Time now) {
    tx.run(note_moved_sql, machine, now);
}

std::vector<UsageRow> usage_of_boot(db::Transaction& tx, GateId gate, std::string_view boot) {
    return tx.fetch(usage_of_boot_sql, gate, boot);
}

void put_usage(db::Transaction& tx, const UsageRow& usage) { tx.insert(put_usage_sql, usage); }

void add_to_day(db::Transaction& tx, const DayUse& use) {
    tx.run(add_to_day_sql, use.job_id, use.day, use.account, use.bytes_in, use.bytes_out,
           day_bytes_max);
}

DayBytes bytes_of_day(db::Transaction& tx, JobId job, const std::optional<AccountId>& account,
                      std::int64_t day) {
    DayBytes bytes;
    bytes.of_job = tx.fetch_value<std::int64_t>(day_of_job_sql, job, day).value_or(0);
    if (account)
        bytes.of_account =
            tx.fetch_value<std::int64_t>(day_of_account_sql, *account, day).value_or(0);
    return bytes;
}

std::int64_t carried_bytes(db::Transaction& tx, JobId job) {
    return tx.fetch_value<std::int64_t>(carried_bytes_sql, job).value_or(0);
}

void add_gap(db::Transaction& tx, const GapRow& gap) { tx.insert(add_gap_sql, gap); }

std::vector<GapRow> stored_gaps_of_job(db::Transaction& tx, JobId job) {
    return tx.fetch(gaps_of_job_sql, job);
}

std::vector<OutageRow> outages_since(db::Transaction& tx, Time since) {
    return tx.fetch(outages_since_sql, since);
}

Time hearing_since(db::Transaction& tx) {
    return tx.fetch_value<Time>(last_outage_sql).value_or(Time{});
}

void note_listening(db::Transaction& tx, Time now, Duration gap) {
    tx.run(begin_hearing_sql, now);
    tx.run(note_outage_sql, now, now - gap);
    tx.run(note_alive_sql, now);
}

std::vector<JobDoor> doors_of_job(db::Transaction& tx, JobId job) {
    return tx.fetch(places_of_job_sql, job);
}

bool has_gate_that_lives(db::Transaction& tx, JobId job, Time now) {
    return tx.fetch_value<std::int64_t>(heard_gate_sql, job, now - gate_fresh).has_value();
}

std::optional<JobDoor> door_of_job(db::Transaction& tx, JobId job, std::string_view name) {
    return tx.fetch_one(place_of_name_sql, job, name);
}

std::optional<JobDoor> find_door(db::Transaction& tx, DoorId door) {
    return tx.fetch_one(place_of_door_sql, door);
}

std::optional<JobDoor> door_at(db::Transaction& tx, const NamedEndpoint& endpoint) {
    return tx.fetch_one(place_named_sql, endpoint.job_id, endpoint.machine_id, endpoint.name,
                        endpoint.host, endpoint.port);
}

bool is_door(db::Transaction& tx, std::string_view host, std::int64_t port) {
    return tx.fetch_value<std::int64_t>(any_door_sql, host, port).has_value();
}

std::optional<std::string> dial_host_of_test(db::Transaction& tx, const machines::TestDoor& door) {
    return tx.fetch_value<std::string>(test_door_sql, door.run_id, door.machine_id, door.host,
                                       door.port);
}

std::vector<db::Watched> watched_of_doors() {
    return {{"gate_doors", door_columns}, {"gates", gate_columns}};
}

std::int64_t prune_old_doors(db::Transaction& tx, Time now, std::int64_t rows_max) {
    tx.run(prune_gaps_sql, now - doors_kept, rows_max);
    tx.run(prune_usage_sql, now - doors_kept, rows_max);
    tx.run(prune_boots_sql, now - boots_kept);
    tx.run(prune_outages_sql, now - outages_kept);
    return tx.run(prune_doors_sql, now - doors_kept, rows_max).affected;
}

}  // namespace berth::gates
