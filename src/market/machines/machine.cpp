#include "machines/machine.hpp"

#include "base/check.hpp"
#include "base/problem.hpp"
#include "machines/states.hpp"

namespace berth::machines {
namespace {

const db::Query<Machine> find_machine_sql(
    "SELECT {} FROM machines WHERE machine_id = $1 AND retired_at IS NULL");
const db::Query<Machine> find_by_offer_sql(
    "SELECT {} FROM machines WHERE offer_id = $1 AND retired_at IS NULL");
// An update that changes nothing still waits for whoever is at the row, and then sees what they
// left.
const db::Query<Machine> hold_sql(
    "UPDATE machines SET version = version WHERE machine_id = $1 AND retired_at IS NULL "
    "RETURNING {}");
// $2 is the new version, as the members stand in the row.
const db::Query<Machine> save_machine_sql(
    "UPDATE machines SET {=} WHERE machine_id = $1 AND version = $2 - 1");
const db::Query<Machine> add_machine_sql("INSERT INTO machines ({}, manifest) VALUES ({$}, '')");

constexpr std::string_view owner_sql = "SELECT owner FROM machines WHERE machine_id = $1";
const db::Query<Measured> find_measured_sql("SELECT {} FROM machines WHERE machine_id = $1");
constexpr std::string_view save_measured_sql =
    "UPDATE machines SET vram_bytes = $2, ram_bytes = $3, disk_bytes = $4, "
    "cpu_cores_measured = $5, download_mbps_milli = $6, upload_mbps_milli = $7, "
    "gpu_mem_bw_gbps_milli = $8, tflops_milli = $9, ai_speed_tok_s_milli = $10, "
    "pcie_gbps_milli = $11 WHERE machine_id = $1";
constexpr std::string_view find_manifest_sql =
    "SELECT manifest FROM machines WHERE machine_id = $1";
constexpr std::string_view save_manifest_sql =
    "UPDATE machines SET manifest = $2 WHERE machine_id = $1";
constexpr std::string_view forget_gpus_sql = "DELETE FROM machine_gpus WHERE machine_id = $1";
constexpr std::string_view add_gpu_sql =
    "INSERT INTO machine_gpus (uuid, machine_id) VALUES ($1, $2) "
    "ON CONFLICT (uuid, machine_id) DO NOTHING";
constexpr std::string_view duplicate_sql =
    "SELECT 1 FROM machine_gpus AS own JOIN machine_gpus AS other ON other.uuid = own.uuid "
    "JOIN machines AS m ON m.machine_id = other.machine_id "
    "WHERE own.machine_id = $1 AND other.machine_id <> $1 AND m.retired_at IS NULL LIMIT 1";
constexpr std::string_view last_healthy_sql =
    "SELECT last_healthy_at FROM machine_health WHERE machine_id = $1";
constexpr std::string_view count_heard_sql =
    "SELECT COUNT(*) FROM machine_health WHERE last_healthy_at >= $1 AND last_healthy_at < $2";
// What is older than what is known changes nothing; a heartbeat without telemetry leaves the last
// sample, and with it the boot that it is of.
const db::Query<Heard> heard_sql(
    "INSERT INTO machine_health ({}) VALUES ({$}) ON CONFLICT (machine_id) DO UPDATE SET "
    "last_healthy_at = excluded.last_healthy_at, "
    "boot_id = CASE WHEN excluded.telemetry IS NULL AND machine_health.telemetry IS NOT NULL "
    "THEN machine_health.boot_id ELSE excluded.boot_id END, "
    "telemetry = COALESCE(excluded.telemetry, machine_health.telemetry), "
    "telemetry_at = COALESCE(excluded.telemetry_at, machine_health.telemetry_at) "
    "WHERE machine_health.last_healthy_at <= excluded.last_healthy_at");

}  // namespace

std::optional<Machine> find(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(find_machine_sql, id);
}

std::optional<Machine> find_by_offer(db::Transaction& tx, OfferId id) {
    return tx.fetch_one(find_by_offer_sql, id);
}

std::optional<Machine> hold(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(hold_sql, id);
}

Machine hold_own(db::Transaction& tx, MachineId id, AccountId owner) {
    // Looked at first, so that a stranger makes nobody wait.
    if (auto seen = find(tx, id); seen && seen->owner == owner)
        if (auto machine = hold(tx, id)) return *std::move(machine);
    throw Problem(Code::not_found, "there is no such machine");
}

std::optional<AccountId> owner_of(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<AccountId>(owner_sql, id);
}

std::optional<Measured> find_measured(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(find_measured_sql, id);
}

std::optional<std::string> find_manifest(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<std::string>(find_manifest_sql, id);
}

std::optional<Time> find_last_healthy(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<Time>(last_healthy_sql, id);
}

std::int64_t count_heard(db::Transaction& tx, Time from, Time before) {
    return tx.fetch_value<std::int64_t>(count_heard_sql, from, before).value_or(0);
}

bool has_duplicate_gpu(db::Transaction& tx, MachineId id) {
    return !tx.run(duplicate_sql, id).empty();
}

void add(db::Transaction& tx, const Machine& machine, std::string_view manifest,
         const std::vector<std::string>& gpu_uuids) {
    tx.insert(add_machine_sql, machine);
    save_manifest(tx, machine.machine_id, manifest, gpu_uuids);
}

void save(const db::Context& context, Machine& machine) {
    ++machine.version;
    machine.changed_at = context.now;
    context.tx.touch(machine.machine_id.uuid);
    if (context.tx.insert(save_machine_sql, machine).affected == 1) return;
    throw Problem(Code::conflict, "the machine changed in this moment: try again");
}

void save_measured(db::Transaction& tx, MachineId id, const Measured& measured) {
    tx.run(save_measured_sql, id, measured.vram_bytes, measured.ram_bytes, measured.disk_bytes,
           measured.cpu_cores_measured, measured.download_mbps_milli, measured.upload_mbps_milli,
           measured.gpu_mem_bw_gbps_milli, measured.tflops_milli, measured.ai_speed_tok_s_milli,
           measured.pcie_gbps_milli);
}

void save_manifest(db::Transaction& tx, MachineId id, std::string_view manifest,
                   const std::vector<std::string>& gpu_uuids) {
    tx.run(save_manifest_sql, id, manifest);
    tx.run(forget_gpus_sql, id);
    for (const std::string& uuid : gpu_uuids) tx.run(add_gpu_sql, uuid, id);
}

void note_heard(db::Transaction& tx, const Heard& heard) { tx.insert(heard_sql, heard); }

void set_offer(const db::Context& context, Machine& machine, const OfferChange& change) {
    require(change.offer_version >= machine.offer_version, "the version of an offer never falls");
    require(change.offer_state && may_become(machine.offer_state, *change.offer_state),
            "an offer moves as its table says");
    machine.offer_version = change.offer_version;
    machine.offer_state = change.offer_state;
    machine.listed_at = change.listed_at;
    machine.available_until = change.available_until;
    machine.availability_class = change.availability_class;
    save(context, machine);
}

}  // namespace berth::machines
