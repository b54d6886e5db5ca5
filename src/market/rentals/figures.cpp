#include "rentals/figures.hpp"

#include <algorithm>
#include <map>

#include "db/name_list.hpp"
#include "rentals/store.hpp"

namespace berth::rentals {
namespace {

constexpr Duration count_every = std::chrono::seconds(5);

constexpr std::int64_t micros_of_day = 86'400'000'000;
constexpr Duration horizon = std::chrono::hours(machines::interruption_horizon_h);

std::int64_t day_of(Time at) { return at.micros / micros_of_day; }

// A rental that is over says the same for ever: it is counted once, into its day, and what is shown
// of a machine is the sum of a few days.
struct EndedJob {
    Time meter_started_at;
    Time ended_at;
    std::optional<Time> notice_at = {};
    std::optional<EndReason> end_reason = {};
    AvailabilityClass availability_class{};
};
BOOST_DESCRIBE_STRUCT(EndedJob, (),
                      (meter_started_at, ended_at, notice_at, end_reason, availability_class))
const db::Query<EndedJob> take_ended_sql(
    "UPDATE jobs SET is_counted = 1 WHERE machine_id = $1 AND is_counted = 0 "
    "AND meter_started_at IS NOT NULL AND ended_at IS NOT NULL RETURNING {}");

struct RentalDay {
    MachineId machine_id;
    std::int64_t day = 0;
    std::int64_t rated_jobs = 0;
    std::int64_t faulted_jobs = 0;
    std::int64_t interrupted_runs = 0;
    std::int64_t uninterrupted_runs = 0;
};
BOOST_DESCRIBE_STRUCT(RentalDay, (),
                      (machine_id, day, rated_jobs, faulted_jobs, interrupted_runs,
                       uninterrupted_runs))
const db::Query<RentalDay> add_day_sql(
    "INSERT INTO rental_days ({}) VALUES ({$}) ON CONFLICT (machine_id, day) DO UPDATE SET "
    "rated_jobs = rental_days.rated_jobs + excluded.rated_jobs, "
    "faulted_jobs = rental_days.faulted_jobs + excluded.faulted_jobs, "
    "interrupted_runs = rental_days.interrupted_runs + excluded.interrupted_runs, "
    "uninterrupted_runs = rental_days.uninterrupted_runs + excluded.uninterrupted_runs");
const db::Query<RentalDay> list_days_sql(
    "SELECT {} FROM rental_days WHERE machine_id = $1 AND day > $2");
constexpr std::string_view prune_days_sql =
    "DELETE FROM rental_days WHERE (machine_id, day) IN (SELECT machine_id, day FROM rental_days "
    "WHERE day <= $1 ORDER BY day LIMIT $2)";
// The job that it has now, if it may be interrupted and came to the horizon.
const std::string find_lasting_sql =
    "SELECT COUNT(*) FROM jobs WHERE machine_id = $1 AND state IN " + db::name_list(live_states) +
    " AND availability_class = 'interruptible' AND meter_started_at <= $2 "
    "AND (notice_at IS NULL OR notice_at - meter_started_at >= $3)";

// An end is the host's fault when it was lost, or when its engine was down for too long or ended
// unasked. What a workload ended by itself, which its renter may have let it, counts neither way,
// nor does what no gate carried.
// An interruptible run counts when it came to the horizon or was interrupted before it: what its
// renter ended earlier says nothing of the host.
bool is_rated(const EndedJob& job) {
    return job.end_reason != EndReason::workload_exited && job.end_reason != EndReason::gate_lost;
}
bool is_faulted(const EndedJob& job) {
    return job.end_reason == EndReason::host_lost || job.end_reason == EndReason::engine_failed;
}

RentalDay day_with(MachineId machine, const EndedJob& job) {
    const bool is_interruptible = job.availability_class == AvailabilityClass::interruptible;
    const bool lasted = job.notice_at.value_or(job.ended_at) - job.meter_started_at >= horizon;
    return {.machine_id = machine,
            .day = day_of(job.ended_at),
            .rated_jobs = is_rated(job) ? 1 : 0,
            .faulted_jobs = is_faulted(job) ? 1 : 0,
            .interrupted_runs = is_interruptible && job.notice_at && !lasted ? 1 : 0,
            .uninterrupted_runs = is_interruptible && lasted ? 1 : 0};
}

std::int64_t first_day(Time now) { return day_of(now - machines::rentals_window); }

machines::Figures count_one(db::Transaction& tx, MachineId id, Time now) {
    for (const EndedJob& job : tx.fetch(take_ended_sql, id))
        tx.insert(add_day_sql, day_with(id, job));
    RentalDay sum;
    for (const RentalDay& day : tx.fetch(list_days_sql, id, first_day(now))) {
        sum.rated_jobs += day.rated_jobs;
        sum.faulted_jobs += day.faulted_jobs;
        sum.interrupted_runs += day.interrupted_runs;
        sum.uninterrupted_runs += day.uninterrupted_runs;
    }
    sum.uninterrupted_runs +=
        tx.fetch_value<std::int64_t>(find_lasting_sql, id, now - horizon, horizon.count())
            .value_or(0);
    machines::Figures figures;
    figures.rated_jobs = sum.rated_jobs;
    figures.faulted_jobs = sum.faulted_jobs;
    figures.uninterrupted_runs = sum.uninterrupted_runs;
    figures.interruptible_runs = sum.uninterrupted_runs + sum.interrupted_runs;
    if (figures.interruptible_runs > 0) figures.interruption_at = now;
    return figures;
}

}  // namespace

std::int64_t count_figures(const CountParts& parts) {
    const Time now = parts.clock.now();
    std::map<MachineId, std::int64_t> uptimes;
    auto due = parts.database.read([&](db::Transaction& tx) {
        uptimes = machines::find_uptimes(tx, now, machines_per_count_max);
        return machines::find_uncounted(tx, now, machines_per_count_max);
    });
    if (due.empty()) return 0;
    // Rows are changed in the order of their ids, as everybody does.
    std::sort(due.begin(), due.end(),
              [](const auto& a, const auto& b) { return a.machine_id < b.machine_id; });
    parts.database.write([&](db::Transaction& tx) {
        for (const machines::Uncounted& each : due) {
            machines::Figures figures = count_one(tx, each.machine_id, now);
            if (const auto found = uptimes.find(each.machine_id); found != uptimes.end())
                figures.uptime_bps = found->second;
            machines::save_figures({tx, parts.random, now}, each, figures);
        }
    });
    return static_cast<std::int64_t>(due.size());
}

std::int64_t prune_rental_days(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_days_sql, first_day(now), rows_max).affected;
}

worker::Kind count_figures_kind(const CountParts& parts) {
    worker::Kind kind;
    kind.name = "count_figures";
    kind.run = [parts](worker::Attempt&) { count_figures(parts); };
    kind.every = count_every;
    return kind;
}

}  // namespace berth::rentals
