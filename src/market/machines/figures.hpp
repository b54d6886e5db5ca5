// What its rentals and its heartbeats say of a machine: reliability, interruptions, uptime. The
// worker counts them, and they stand in the machine's row, which is written only when one of them
// has changed, so that the catalog reads a page without counting anything.
#pragma once

#include <map>

#include "machines/machine.hpp"
#include "worker/worker.hpp"

namespace berth::machines {

// Jobs and interruptions are of the last 90 days, uptime of the last 30.
inline constexpr Duration rentals_window = std::chrono::hours(24 * 90);
inline constexpr std::int64_t uptime_days = 30;
inline constexpr Duration sample_every = std::chrono::minutes(5);
// Half a day of samples; fewer say nothing.
inline constexpr std::int64_t uptime_samples_min = 144;
// How long an interruptible job has to run to count as one that was not interrupted.
inline constexpr std::int64_t interruption_horizon_h = 24;

struct Figures {
    std::int64_t rated_jobs = 0;    // that reached READY and are over
    std::int64_t faulted_jobs = 0;  // those of them that the host ended
    std::optional<std::int64_t> uptime_bps;
    std::int64_t interruptible_runs = 0;  // that came to the horizon or were interrupted before it
    std::int64_t uninterrupted_runs = 0;  // those of them that came to it
    std::optional<Time> interruption_at;  // when the runs were counted
};
BOOST_DESCRIBE_STRUCT(Figures, (),
                      (rated_jobs, faulted_jobs, uptime_bps, interruptible_runs, uninterrupted_runs,
                       interruption_at))

// A machine whose figures are to be counted, with those it has.
struct Uncounted {
    MachineId machine_id;
    Time figures_due_at;
    std::int64_t rated_jobs = 0;
    std::int64_t faulted_jobs = 0;
    std::optional<std::int64_t> uptime_bps;
    std::int64_t interruptible_runs = 0;
    std::int64_t uninterrupted_runs = 0;
    std::optional<Time> interruption_at;
};
BOOST_DESCRIBE_STRUCT(Uncounted, (),
                      (machine_id, figures_due_at, rated_jobs, faulted_jobs, uptime_bps,
                       interruptible_runs, uninterrupted_runs, interruption_at))

// Machines whose figures are due, the longest due first.
std::vector<Uncounted> find_uncounted(db::Transaction& tx, Time now, std::int64_t rows_max);
// The uptime of the same machines, in hundredths of a percent; machines with too few samples are
// left out.
std::map<MachineId, std::int64_t> find_uptimes(db::Transaction& tx, Time now,
                                               std::int64_t rows_max);
// Writes the counted figures and when to count again. The row's version grows only when a figure
// has changed. Nothing is written when the machine became due again since `seen` was read.
void save_figures(const db::Context& context, const Uncounted& seen, const Figures& counted);

// Notes for up to `rows_max` machines after this one whether they are there, listed and rented.
// Returns the last of them, or nothing at the end. A second sample within half of sample_every is
// not taken.
std::optional<MachineId> sample_uptime(db::Transaction& tx, Time now, MachineId after,
                                       std::int64_t rows_max);
worker::Kind sample_uptime_kind(db::Database& database, const Clock& clock);

// How often it was looked for, and how often it was then there, listed, and rented.
struct DaySamples {
    std::int64_t samples = 0;
    std::int64_t heard = 0;
    std::int64_t listed = 0;
    std::int64_t rented = 0;
};
BOOST_DESCRIBE_STRUCT(DaySamples, (), (samples, heard, listed, rented))
// Of the last 30 days, today with them.
DaySamples samples_of(db::Transaction& tx, MachineId id, Time now);

// Deletes the samples of days that no figure counts any more. Returns how many.
std::int64_t prune_days(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::machines
