#include "machines/store.hpp"

namespace berth::machines {
namespace {

const db::Query<Uncounted> uncounted_sql(
    "SELECT {} FROM machines WHERE figures_due_at IS NOT NULL AND figures_due_at <= $1 "
    "AND retired_at IS NULL ORDER BY figures_due_at, machine_id LIMIT $2");
constexpr std::string_view changed_sql =
    "UPDATE machines SET rated_jobs = $3, faulted_jobs = $4, uptime_bps = $5, "
    "interruptible_runs = $6, uninterrupted_runs = $7, interruption_at = $8, "
    "figures_due_at = $9, version = version + 1, changed_at = $10 "
    "WHERE machine_id = $1 AND figures_due_at = $2 AND retired_at IS NULL";
constexpr std::string_view unchanged_sql =
    "UPDATE machines SET figures_due_at = $3 "
    "WHERE machine_id = $1 AND figures_due_at = $2 AND retired_at IS NULL";

const db::Query<UptimeSamples> uptimes_sql(
    "SELECT {} FROM (SELECT machine_id, CAST(SUM(samples) AS BIGINT) AS samples, "
    "CAST(SUM(heard) AS BIGINT) AS heard FROM machine_days WHERE day > $1 AND machine_id IN ("
    "  SELECT machine_id FROM machines WHERE figures_due_at IS NOT NULL AND figures_due_at <= $2 "
    "  AND retired_at IS NULL ORDER BY figures_due_at, machine_id LIMIT $3) "
    "GROUP BY machine_id) AS counted");

constexpr std::string_view page_sql =
    "SELECT machine_id FROM machines WHERE retired_at IS NULL AND machine_id > $1 "
    "ORDER BY machine_id LIMIT $2";
// A task that runs again finds the samples of the attempt before, and adds nothing to them.
constexpr std::string_view sample_sql =
    "INSERT INTO machine_days (machine_id, day, samples, heard, sampled_at, listed, rented) "
    "SELECT m.machine_id, CAST($1 AS BIGINT), 1, "
    "CASE WHEN h.last_healthy_at > $2 THEN 1 ELSE 0 END, CAST($3 AS BIGINT), "
    "CASE WHEN m.offer_state = 'listed' THEN 1 ELSE 0 END, "
    "CASE WHEN m.state = 'ALLOCATED' THEN 1 ELSE 0 END "
    "FROM machines AS m LEFT JOIN machine_health AS h ON h.machine_id = m.machine_id "
    "WHERE m.retired_at IS NULL AND m.machine_id > $4 AND m.machine_id <= $5 "
    "ORDER BY m.machine_id "
    "ON CONFLICT (machine_id, day) DO UPDATE SET samples = machine_days.samples + 1, "
    "heard = machine_days.heard + excluded.heard, sampled_at = excluded.sampled_at, "
    "listed = machine_days.listed + excluded.listed, "
    "rented = machine_days.rented + excluded.rented "
    "WHERE machine_days.sampled_at < $6";
const db::Query<DaySamples> day_samples_sql(
    "SELECT {} FROM (SELECT CAST(COALESCE(SUM(samples), 0) AS BIGINT) AS samples, "
    "CAST(COALESCE(SUM(heard), 0) AS BIGINT) AS heard, "
    "CAST(COALESCE(SUM(listed), 0) AS BIGINT) AS listed, "
    "CAST(COALESCE(SUM(rented), 0) AS BIGINT) AS rented "
    "FROM machine_days WHERE machine_id = $1 AND day > $2) AS counted");
constexpr std::string_view prune_uptime_sql =
    "DELETE FROM machine_days WHERE (machine_id, day) IN ("
    "  SELECT machine_id, day FROM machine_days WHERE day <= $1 ORDER BY day LIMIT $2)";

}  // namespace

std::vector<Uncounted> find_uncounted(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch(uncounted_sql, now, rows_max);
}

void save_counted(const db::Context& context, const Uncounted& seen, const Figures& counted,
                  Time next) {
    context.tx.run(changed_sql, seen.machine_id, seen.figures_due_at, counted.rated_jobs,
                   counted.faulted_jobs, counted.uptime_bps, counted.interruptible_runs,
                   counted.uninterrupted_runs, counted.interruption_at, next, context.now);
}

void set_next_count(db::Transaction& tx, const Uncounted& seen, Time next) {
    tx.run(unchanged_sql, seen.machine_id, seen.figures_due_at, next);
}

std::vector<UptimeSamples> find_uptime_samples(db::Transaction& tx, std::int64_t after_day,
                                               Time now, std::int64_t rows_max) {
    return tx.fetch(uptimes_sql, after_day, now, rows_max);
}

std::vector<MachineId> find_page(db::Transaction& tx, MachineId after, std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(page_sql, after, rows_max);
}

void add_uptime_samples(db::Transaction& tx, const UptimeSampling& sampling, MachineId after,
                        MachineId last) {
    tx.run(sample_sql, sampling.day, sampling.heard_after, sampling.at, after, last,
           sampling.not_since);
}

DaySamples find_day_samples(db::Transaction& tx, MachineId id, std::int64_t after_day) {
    return tx.fetch_one(day_samples_sql, id, after_day).value_or(DaySamples{});
}

std::int64_t prune_days_until(db::Transaction& tx, std::int64_t day, std::int64_t rows_max) {
    return tx.run(prune_uptime_sql, day, rows_max).affected;
}

}  // namespace berth::machines
