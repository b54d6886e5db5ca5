#include "machines/figures.hpp"

#include <atomic>
#include <memory>

namespace berth::machines {
namespace {

constexpr std::int64_t micros_per_day = 86'400'000'000;
constexpr Duration count_every = std::chrono::hours(24);
constexpr std::int64_t machines_at_once = 1000;

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

struct Uptime {
    MachineId machine_id;
    std::int64_t samples = 0;
    std::int64_t heard = 0;
};
BOOST_DESCRIBE_STRUCT(Uptime, (), (machine_id, samples, heard))
const db::Query<Uptime> uptimes_sql(
    "SELECT {} FROM (SELECT machine_id, CAST(SUM(samples) AS BIGINT) AS samples, "
    "CAST(SUM(heard) AS BIGINT) AS heard FROM machine_days WHERE day > $1 AND machine_id IN ("
    "  SELECT machine_id FROM machines WHERE figures_due_at IS NOT NULL AND figures_due_at <= $2 "
    "  AND retired_at IS NULL ORDER BY figures_due_at, machine_id LIMIT $3) "
    "GROUP BY machine_id) AS counted");

constexpr std::string_view page_sql =
    "SELECT machine_id FROM machines WHERE retired_at IS NULL AND machine_id > $1 "
    "ORDER BY machine_id LIMIT $2";
// An attempt that is made again finds the rows of the one before, and adds nothing to them.
constexpr std::string_view sample_sql =
    "INSERT INTO machine_days (machine_id, day, samples, heard, sampled_at) "
    "SELECT m.machine_id, CAST($1 AS BIGINT), 1, "
    "CASE WHEN h.last_healthy_at > $2 THEN 1 ELSE 0 END, CAST($3 AS BIGINT) "
    "FROM machines AS m LEFT JOIN machine_health AS h ON h.machine_id = m.machine_id "
    "WHERE m.retired_at IS NULL AND m.machine_id > $4 AND m.machine_id <= $5 "
    "ORDER BY m.machine_id "
    "ON CONFLICT (machine_id, day) DO UPDATE SET samples = machine_days.samples + 1, "
    "heard = machine_days.heard + excluded.heard, sampled_at = excluded.sampled_at "
    "WHERE machine_days.sampled_at < $6";
constexpr std::string_view prune_uptime_sql =
    "DELETE FROM machine_days WHERE (machine_id, day) IN ("
    "  SELECT machine_id, day FROM machine_days WHERE day <= $1 ORDER BY day LIMIT $2)";

std::int64_t day_of(Time at) { return at.micros / micros_per_day; }

// Counts that are shown say when they were made, so they are made again once a day.
bool is_news(const Uncounted& seen, const Figures& counted) {
    const bool is_old = seen.interruption_at && counted.interruption_at &&
                        *counted.interruption_at - *seen.interruption_at >= count_every;
    return seen.rated_jobs != counted.rated_jobs || seen.faulted_jobs != counted.faulted_jobs ||
           seen.uptime_bps != counted.uptime_bps ||
           seen.interruptible_runs != counted.interruptible_runs ||
           seen.uninterrupted_runs != counted.uninterrupted_runs || is_old;
}

}  // namespace

std::vector<Uncounted> find_uncounted(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch(uncounted_sql, now, rows_max);
}

std::map<MachineId, std::int64_t> find_uptimes(db::Transaction& tx, Time now,
                                               std::int64_t rows_max) {
    constexpr std::int64_t all_bps = 10'000;
    std::map<MachineId, std::int64_t> found;
    for (const Uptime& each : tx.fetch(uptimes_sql, day_of(now) - uptime_days, now, rows_max))
        if (each.samples >= uptime_samples_min)
            found[each.machine_id] = each.heard * all_bps / each.samples;
    return found;
}

void save_figures(const db::Context& context, const Uncounted& seen, const Figures& counted) {
    const Time next = context.now + count_every;
    if (is_news(seen, counted))
        context.tx.run(changed_sql, seen.machine_id, seen.figures_due_at, counted.rated_jobs,
                       counted.faulted_jobs, counted.uptime_bps, counted.interruptible_runs,
                       counted.uninterrupted_runs, counted.interruption_at, next, context.now);
    else
        context.tx.run(unchanged_sql, seen.machine_id, seen.figures_due_at, next);
}

std::optional<MachineId> sample_uptime(db::Transaction& tx, Time now, MachineId after,
                                       std::int64_t rows_max) {
    const auto page = tx.fetch_values<MachineId>(page_sql, after, rows_max);
    if (page.empty()) return std::nullopt;
    tx.run(sample_sql, day_of(now), now - heartbeat_fresh, now, after, page.back(),
           now - sample_every / 2);
    return page.back();
}

// Agents take a while to come back after an outage of ours, which is not theirs: what this process
// sees first says nothing.
worker::Kind sample_uptime_kind(db::Database& database, const Clock& clock) {
    const auto has_looked = std::make_shared<std::atomic<bool>>(false);
    worker::Kind kind;
    kind.name = "sample_uptime";
    kind.run = [&database, &clock, has_looked](worker::Attempt&) {
        if (!has_looked->exchange(true)) return;
        for (std::optional<MachineId> after = MachineId{}; after;)
            after = database.write([&](db::Transaction& tx) {
                return sample_uptime(tx, clock.now(), *after, machines_at_once);
            });
    };
    kind.every = sample_every;
    return kind;
}

std::int64_t prune_days(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_uptime_sql, day_of(now) - uptime_days, rows_max).affected;
}

}  // namespace berth::machines
