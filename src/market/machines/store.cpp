#include "machines/store.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/problem.hpp"
#include "machines/gpus.hpp"
#include "machines/offer_side.hpp"
#include "wire/open.hpp"

namespace berth::machines {
namespace {

const db::Query<Machine> find_machine_sql(
    "SELECT {} FROM machines WHERE machine_id = $1 AND retired_at IS NULL");
const db::Query<Machine> find_by_offer_sql(
    "SELECT {} FROM machines WHERE offer_id = $1 AND retired_at IS NULL");
// An update that changes nothing still waits for the transaction that has the row, and then sees
// what that one wrote.
const db::Query<Machine> hold_sql(
    "UPDATE machines SET version = version WHERE machine_id = $1 AND retired_at IS NULL "
    "RETURNING {}");
// $2 is the new version, as the members stand in the row.
const db::Query<Machine> save_machine_sql(
    "UPDATE machines SET {=} WHERE machine_id = $1 AND version = $2 - 1");
// There is one version of the protocol, and who speaks another was refused.
static_assert(agent_protocol::protocol_version == 1);
const db::Query<Machine> add_machine_sql(
    "INSERT INTO machines ({}, manifest, protocol_version) VALUES ({$}, '', 1)");

constexpr std::string_view owner_sql = "SELECT owner FROM machines WHERE machine_id = $1";
const db::Query<Measured> find_measured_sql("SELECT {} FROM machines WHERE machine_id = $1");
constexpr std::string_view save_measured_sql =
    "UPDATE machines SET vram_bytes = $2, ram_bytes = $3, disk_bytes = $4, "
    "cpu_cores_measured = $5, download_mbps_milli = $6, upload_mbps_milli = $7, "
    "gpu_mem_bw_gbps_milli = $8, tflops_milli = $9, ai_speed_tok_s_milli = $10, "
    "pcie_gbps_milli = $11, gpus_bytes = $12 WHERE machine_id = $1";
constexpr std::string_view find_reach_why_sql =
    "SELECT reach_why FROM machines WHERE machine_id = $1";
constexpr std::string_view save_reach_why_sql =
    "UPDATE machines SET reach_why = $2 WHERE machine_id = $1";
constexpr std::string_view find_manifest_sql =
    "SELECT manifest FROM machines WHERE machine_id = $1";
constexpr std::string_view save_manifest_sql =
    "UPDATE machines SET manifest = $2 WHERE machine_id = $1";
constexpr std::string_view last_healthy_sql =
    "SELECT last_healthy_at FROM machine_health WHERE machine_id = $1";
constexpr std::string_view count_heard_sql =
    "SELECT COUNT(*) FROM machine_health WHERE last_healthy_at >= $1 AND last_healthy_at < $2";
// An older heartbeat than the stored one changes nothing; one without telemetry leaves the last
// telemetry, and the boot that it belongs to.
constexpr std::string_view heard_again_sql =
    " ON CONFLICT (machine_id) DO UPDATE SET "
    "last_healthy_at = excluded.last_healthy_at, "
    "boot_id = CASE WHEN excluded.telemetry IS NULL AND machine_health.telemetry IS NOT NULL "
    "THEN machine_health.boot_id ELSE excluded.boot_id END, "
    "telemetry = COALESCE(excluded.telemetry, machine_health.telemetry), "
    "telemetry_at = COALESCE(excluded.telemetry_at, machine_health.telemetry_at) "
    "WHERE machine_health.last_healthy_at <= excluded.last_healthy_at";
const db::Query<Heard> heard_sql(fmt::format("INSERT INTO machine_health ({{}}) VALUES ({{$}}){}",
                                             heard_again_sql));
const db::Query<ImagesRow> save_images_sql(
    "INSERT INTO machine_images ({}) VALUES ({$}) ON CONFLICT (machine_id) DO UPDATE SET "
    "images = excluded.images, changed_at = excluded.changed_at");

const db::Query<MachineFacts> find_facts_sql(
    "SELECT {} FROM machines WHERE machine_id = $1 AND retired_at IS NULL");
const db::Query<MachineFacts> changed_facts_sql(
    "SELECT {} FROM machines WHERE changed_at >= $1 ORDER BY changed_at LIMIT $2");

const db::Query<MachineEventRow> add_event_sql(
    "INSERT INTO machine_events ({}) VALUES ({$}) ON CONFLICT (event_id) DO NOTHING");
constexpr std::string_view count_events_sql =
    "SELECT COUNT(*) FROM machine_events WHERE machine_id = $1 AND kind = $2 AND at > $3";

constexpr std::string_view add_enrollment_sql =
    "INSERT INTO machine_enrollments (enrollment_id, owner, tier, label, token_hash, created_at, "
    "expires_at, rate_micro_per_hour, included_disk_gib, included_egress_gib, available_days, "
    "wants_listing) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const db::Query<OfferWish> find_offer_wish_sql(
    "SELECT {} FROM machine_enrollments WHERE machine_id = $1 "
    "AND rate_micro_per_hour IS NOT NULL");
constexpr std::string_view withdraw_wish_sql =
    "UPDATE machine_enrollments SET wants_listing = 0 WHERE machine_id = $1";
const db::Query<EnrollmentRow> find_enrollment_sql(
    "SELECT {} FROM machine_enrollments WHERE token_hash = $1");
const db::Query<EnrollmentRow> show_enrollment_sql(
    "SELECT {} FROM machine_enrollments WHERE enrollment_id = $1");
constexpr std::string_view use_enrollment_sql =
    "UPDATE machine_enrollments SET used_at = $2, machine_id = $3 "
    "WHERE enrollment_id = $1 AND used_at IS NULL";
constexpr std::string_view prune_enrollments_sql =
    "DELETE FROM machine_enrollments WHERE enrollment_id IN ("
    "  SELECT enrollment_id FROM machine_enrollments WHERE expires_at <= $1 "
    "  ORDER BY enrollment_id LIMIT $2)";

// Of a manifest, the wish alone.
struct WishInManifest {
    std::optional<GateWish> gate;
};
BOOST_DESCRIBE_STRUCT(WishInManifest, (), (gate))

constexpr std::size_t heard_columns = 5;

std::string heard_statement(std::size_t rows) {
    std::string sql =
        "INSERT INTO machine_health (machine_id, last_healthy_at, boot_id, telemetry, "
        "telemetry_at) VALUES ";
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t first = row * heard_columns + 1;
        sql += fmt::format("{}(${}, ${}, ${}, ${}, ${})", row == 0 ? "" : ", ", first, first + 1,
                           first + 2, first + 3, first + 4);
    }
    return sql + std::string(heard_again_sql);
}

// Sends one statement for the first `Rows` of the rest.
template <std::size_t Rows>
void send_heard(db::Transaction& tx, std::span<const Heard* const>& rest) {
    static const std::string sql = heard_statement(Rows);
    std::vector<db::Param> params;
    params.reserve(Rows * heard_columns);
    for (const Heard* heard : rest.first(Rows)) {
        params.emplace_back(heard->machine_id);
        params.emplace_back(heard->last_healthy_at);
        params.emplace_back(heard->boot_id);
        params.emplace_back(heard->telemetry);
        params.emplace_back(heard->telemetry_at);
    }
    [&]<std::size_t... Index>(std::index_sequence<Index...>) { tx.start(sql, params[Index]...); }
    (std::make_index_sequence<Rows * heard_columns>{});
    rest = rest.subspan(Rows);
}

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

std::optional<AccountId> owner_of(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<AccountId>(owner_sql, id);
}

std::optional<Measured> find_measured(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(find_measured_sql, id);
}

std::optional<std::string> find_manifest(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<std::string>(find_manifest_sql, id);
}

std::optional<GateWish> find_wish(db::Transaction& tx, MachineId id) {
    const auto manifest = find_manifest(tx, id);
    if (!manifest || manifest->empty()) return std::nullopt;
    return wire::decode_known<WishInManifest>(*manifest, "stored").gate;
}

std::optional<std::string> find_reach_why(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<std::optional<std::string>>(find_reach_why_sql, id)
        .value_or(std::nullopt);
}

void save_reach_why(db::Transaction& tx, MachineId id, std::string_view why) {
    tx.run(save_reach_why_sql, id, why);
}

std::optional<Time> find_last_healthy(db::Transaction& tx, MachineId id) {
    return tx.fetch_value<Time>(last_healthy_sql, id);
}

std::int64_t count_heard(db::Transaction& tx, Time from, Time before) {
    return tx.fetch_value<std::int64_t>(count_heard_sql, from, before).value_or(0);
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
           measured.pcie_gbps_milli, measured.gpus_bytes);
}

void save_manifest(db::Transaction& tx, MachineId id, std::string_view manifest,
                   const std::vector<std::string>& gpu_uuids) {
    tx.run(save_manifest_sql, id, manifest);
    name_gpus(tx, id, gpu_uuids);
}

void save_images(db::Transaction& tx, const ImagesRow& row) { tx.insert(save_images_sql, row); }

void note_heard(db::Transaction& tx, const Heard& heard) { tx.insert(heard_sql, heard); }

void note_heard_of(db::Transaction& tx, std::span<const Heard* const> rows) {
    while (rows.size() >= 64) send_heard<64>(tx, rows);
    while (rows.size() >= 8) send_heard<8>(tx, rows);
    while (!rows.empty()) send_heard<1>(tx, rows);
}

std::optional<MachineFacts> find_facts(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(find_facts_sql, id);
}

std::vector<MachineFacts> find_changed_facts(db::Transaction& tx, Time since,
                                             std::int64_t rows_max) {
    return tx.fetch(changed_facts_sql, since, rows_max);
}

void add_machine_event(db::Transaction& tx, const MachineEventRow& row) {
    tx.insert(add_event_sql, row);
}

std::int64_t count_machine_events(db::Transaction& tx, MachineId machine, std::string_view kind,
                                  Time after) {
    return tx.fetch_value<std::int64_t>(count_events_sql, machine, kind, after).value_or(0);
}

void add_enrollment(const db::Context& context, const EnrollmentRow& row, const Bytes& token_hash) {
    context.tx.run(add_enrollment_sql, row.enrollment_id, row.owner, row.tier, row.label,
                   db::Blob{token_hash}, context.now, row.expires_at, row.rate_micro_per_hour,
                   row.included_disk_gib, row.included_egress_gib, row.available_days,
                   row.wants_listing);
}

std::optional<EnrollmentRow> find_enrollment(db::Transaction& tx, const Bytes& token_hash) {
    return tx.fetch_one(find_enrollment_sql, db::Blob{token_hash});
}

std::optional<EnrollmentRow> find_enrollment(db::Transaction& tx, EnrollmentId id) {
    return tx.fetch_one(show_enrollment_sql, id);
}

std::optional<OfferWish> find_offer_wish(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(find_offer_wish_sql, id);
}

void withdraw_wish_to_list(const db::Context& context, MachineId id) {
    context.tx.run(withdraw_wish_sql, id);
}

bool use_enrollment(const db::Context& context, EnrollmentId id, MachineId machine) {
    return context.tx.run(use_enrollment_sql, id, context.now, machine).affected == 1;
}

std::int64_t prune_enrollments_before(db::Transaction& tx, Time before, std::int64_t rows_max) {
    return tx.run(prune_enrollments_sql, before, rows_max).affected;
}

}  // namespace berth::machines
