#include "catalog/store.hpp"

#include "catalog/catalog.hpp"
#include "db/name_list.hpp"
#include "machines/states.hpp"

namespace berth::catalog {
namespace {

const std::string offers_sql =
    "(SELECT m.machine_id, m.version, m.state, m.retired_at, m.tier, m.runtime_kind,"
    "   m.gpu_model, m.gpu_model_key, m.gpu_count, m.backends, m.driver_version, m.cuda_max,"
    "   m.continent, m.verification_level, m.accepts_custom_images, m.vram_bytes, m.ram_bytes,"
    "   m.disk_bytes, m.cpu_cores_measured, m.download_mbps_milli, m.upload_mbps_milli,"
    "   m.gpu_mem_bw_gbps_milli, m.tflops_milli, m.ai_speed_tok_s_milli, m.rated_jobs,"
    "   m.faulted_jobs, m.uptime_bps, m.interruptible_runs, m.uninterrupted_runs,"
    "   m.interruption_at, m.mode, m.offerable, m.offer_id, m.offer_version,"
    "   m.offer_state, m.listed_at, v.rate_micro_per_hour, v.included_disk_gib,"
    "   v.included_egress_gib, v.available_from, v.available_until, v.availability_class,"
    "   v.preemption_notice_s, h.last_healthy_at, a.suspended, a.host_capability,"
    "   m.qualify_state, m.manifest_hash, m.tested_manifest_hash, m.gpu_memory_shared,"
    "   m.wipe_available, m.gpus_lost"
    " FROM machines m"
    " JOIN offer_versions v ON v.offer_id = m.offer_id AND v.offer_version = m.offer_version"
    " JOIN accounts a ON a.account_id = m.owner"
    " LEFT JOIN machine_health h ON h.machine_id = m.machine_id) AS o";

const db::Query<OfferRow> read_listed_sql(
    "SELECT {} FROM " + offers_sql +
    " WHERE machine_id > $1 AND offer_state = 'listed' AND retired_at IS NULL AND suspended = 0"
    " AND state IN " +
    db::name_list(machines::showable_states) + " ORDER BY machine_id LIMIT $2");
const db::Query<OfferRow> read_offer_sql("SELECT {} FROM " + offers_sql + " WHERE machine_id = $1");
const db::Query<WarmRow> read_warm_sql("SELECT {} FROM machine_images WHERE machine_id = $1");
const db::Query<WarmRow> read_warm_range_sql(
    "SELECT {} FROM machine_images WHERE machine_id > $1 AND machine_id <= $2");
const db::Query<Version> read_changed_sql(
    "SELECT {} FROM machines WHERE changed_at >= $1 ORDER BY changed_at DESC LIMIT $2");
const db::Query<Heartbeat> read_heartbeats_sql(
    "SELECT {} FROM machine_health WHERE last_healthy_at >= $1 ORDER BY last_healthy_at DESC"
    " LIMIT $2");
constexpr std::string_view read_machines_of_sql =
    "SELECT machine_id FROM machines WHERE owner = $1";

constexpr db::Migration history[] = {
    // What the catalog asks every second.
    {.feature = "catalog",
     .number = 1,
     .sql = "CREATE INDEX machine_health_by_time ON machine_health (last_healthy_at);"
            "CREATE INDEX accounts_suspended ON accounts (account_id) WHERE suspended = 1;"},
    {.feature = "catalog",
     .number = 2,
     .sql = "CREATE INDEX accounts_barred ON accounts (account_id) WHERE host_barred = 1;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

std::vector<OfferRow> read_listed(db::Transaction& tx, MachineId after, std::int64_t rows_max) {
    return tx.fetch(read_listed_sql, after, rows_max);
}

std::vector<OfferRow> read_offers(db::Transaction& tx, const std::vector<MachineId>& machines) {
    std::vector<db::Transaction::Ticket> tickets;
    tickets.reserve(machines.size());
    for (const MachineId& id : machines) tickets.push_back(tx.start(read_offer_sql.sql(), id));
    std::vector<OfferRow> rows;
    rows.reserve(machines.size());
    for (const auto& ticket : tickets)
        if (auto row = read_offer_sql.row(tx.finish(ticket))) rows.push_back(std::move(*row));
    return rows;
}

std::vector<WarmRow> read_warm(db::Transaction& tx, const std::vector<MachineId>& machines) {
    std::vector<db::Transaction::Ticket> tickets;
    tickets.reserve(machines.size());
    for (const MachineId& id : machines) tickets.push_back(tx.start(read_warm_sql.sql(), id));
    std::vector<WarmRow> rows;
    for (const auto& ticket : tickets)
        if (auto row = read_warm_sql.row(tx.finish(ticket))) rows.push_back(std::move(*row));
    return rows;
}

std::vector<WarmRow> read_warm(db::Transaction& tx, MachineId after, MachineId last) {
    return tx.fetch(read_warm_range_sql, after, last);
}

std::vector<Version> read_changed(db::Transaction& tx, Time since, std::int64_t rows_max) {
    return tx.fetch(read_changed_sql, since, rows_max);
}

std::vector<Heartbeat> read_heartbeats(db::Transaction& tx, Time since, std::int64_t rows_max) {
    return tx.fetch(read_heartbeats_sql, since, rows_max);
}

std::vector<MachineId> read_machines_of(db::Transaction& tx, AccountId owner) {
    return tx.fetch_values<MachineId>(read_machines_of_sql, owner);
}

}  // namespace berth::catalog
