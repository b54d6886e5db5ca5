#include "rentals/figures.hpp"

#include <algorithm>
#include <map>

namespace berth::rentals {
namespace {

constexpr Duration count_every = std::chrono::seconds(5);

// An end is the host's fault when it was lost, or when its engine was down for too long or ended
// unasked. What a workload ended by itself, which its renter may have let it, counts neither way.
// An interruptible run counts when it came to the horizon or was interrupted before it: what its
// renter ended earlier says nothing of the host.
struct JobCounts {
    MachineId machine_id;
    std::int64_t rated_jobs = 0;
    std::int64_t faulted_jobs = 0;
    std::int64_t interrupted_runs = 0;
    std::int64_t uninterrupted_runs = 0;
};
BOOST_DESCRIBE_STRUCT(JobCounts, (),
                      (machine_id, rated_jobs, faulted_jobs, interrupted_runs, uninterrupted_runs))
const db::Query<JobCounts> counts_sql(
    "SELECT {} FROM (SELECT machine_id, "
    "COUNT(CASE WHEN ended_at > $1 AND COALESCE(end_reason, '') <> 'workload_exited' THEN 1 END) "
    "  AS rated_jobs, "
    "COUNT(CASE WHEN ended_at > $1 AND end_reason IN ('host_lost', 'engine_failed') THEN 1 END) "
    "  AS faulted_jobs, "
    "COUNT(CASE WHEN availability_class = 'interruptible' AND meter_started_at > $1 "
    "  AND notice_at - meter_started_at < $2 THEN 1 END) AS interrupted_runs, "
    "COUNT(CASE WHEN availability_class = 'interruptible' AND meter_started_at > $1 "
    "  AND COALESCE(notice_at, ended_at, $3) - meter_started_at >= $2 THEN 1 END) "
    "  AS uninterrupted_runs "
    "FROM jobs WHERE meter_started_at IS NOT NULL AND machine_id IN ("
    "  SELECT machine_id FROM machines WHERE figures_due_at IS NOT NULL AND figures_due_at <= $3 "
    "  AND retired_at IS NULL ORDER BY figures_due_at, machine_id LIMIT $4) "
    "GROUP BY machine_id) AS counted");

struct Page {
    std::vector<machines::Uncounted> due;
    std::map<MachineId, JobCounts> jobs;
    std::map<MachineId, std::int64_t> uptimes;
};

Page read_page(db::Transaction& tx, Time now) {
    constexpr Duration horizon = std::chrono::hours(machines::interruption_horizon_h);
    Page page;
    page.due = machines::find_uncounted(tx, now, machines_per_count_max);
    if (page.due.empty()) return page;
    for (const JobCounts& each : tx.fetch(counts_sql, now - machines::rentals_window,
                                          horizon.count(), now, machines_per_count_max))
        page.jobs[each.machine_id] = each;
    page.uptimes = machines::find_uptimes(tx, now, machines_per_count_max);
    // Rows are changed in the order of their ids, as everybody does.
    std::sort(page.due.begin(), page.due.end(),
              [](const auto& a, const auto& b) { return a.machine_id < b.machine_id; });
    return page;
}

machines::Figures figures_of(const Page& page, MachineId id, Time now) {
    machines::Figures figures;
    if (const auto found = page.uptimes.find(id); found != page.uptimes.end())
        figures.uptime_bps = found->second;
    const auto found = page.jobs.find(id);
    if (found == page.jobs.end()) return figures;
    const JobCounts& jobs = found->second;
    figures.rated_jobs = jobs.rated_jobs;
    figures.faulted_jobs = jobs.faulted_jobs;
    figures.uninterrupted_runs = jobs.uninterrupted_runs;
    figures.interruptible_runs = jobs.uninterrupted_runs + jobs.interrupted_runs;
    if (figures.interruptible_runs > 0) figures.interruption_at = now;
    return figures;
}

}  // namespace

std::int64_t count_figures(const CountParts& parts) {
    const Time now = parts.clock.now();
    const Page page = parts.database.read([&](db::Transaction& tx) { return read_page(tx, now); });
    if (page.due.empty()) return 0;
    parts.database.write([&](db::Transaction& tx) {
        for (const machines::Uncounted& each : page.due)
            machines::save_figures({tx, parts.random, now}, each,
                                   figures_of(page, each.machine_id, now));
    });
    return static_cast<std::int64_t>(page.due.size());
}

worker::Kind count_figures_kind(const CountParts& parts) {
    worker::Kind kind;
    kind.name = "count_figures";
    kind.run = [parts](worker::Attempt&) { count_figures(parts); };
    kind.every = count_every;
    return kind;
}

}  // namespace berth::rentals
