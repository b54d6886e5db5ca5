#include "machines/figures.hpp"

#include <atomic>
#include <memory>

#include "machines/store.hpp"

namespace berth::machines {
namespace {

constexpr std::int64_t micros_per_day = 86'400'000'000;
constexpr Duration count_every = std::chrono::hours(24);
constexpr std::int64_t machines_at_once = 1000;

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

std::map<MachineId, std::int64_t> find_uptimes(db::Transaction& tx, Time now,
                                               std::int64_t rows_max) {
    constexpr std::int64_t all_bps = 10'000;
    std::map<MachineId, std::int64_t> found;
    for (const UptimeSamples& each :
         find_uptime_samples(tx, day_of(now) - uptime_days, now, rows_max))
        if (each.samples >= uptime_samples_min)
            found[each.machine_id] = each.heard * all_bps / each.samples;
    return found;
}

void save_figures(const db::Context& context, const Uncounted& seen, const Figures& counted) {
    const Time next = context.now + count_every;
    if (is_news(seen, counted))
        save_counted(context, seen, counted, next);
    else
        set_next_count(context.tx, seen, next);
}

std::optional<MachineId> sample_uptime(db::Transaction& tx, Time now, MachineId after,
                                       std::int64_t rows_max) {
    const auto page = find_page(tx, after, rows_max);
    if (page.empty()) return std::nullopt;
    add_uptime_samples(tx,
                       {.day = day_of(now),
                        .heard_after = now - heartbeat_fresh,
                        .at = now,
                        .not_since = now - sample_every / 2},
                       after, page.back());
    return page.back();
}

// After an outage of ours agents take a while to come back. That is no downtime of theirs, so the
// first sample of a process is left out.
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

DaySamples samples_of(db::Transaction& tx, MachineId id, Time now) {
    return find_day_samples(tx, id, day_of(now) - uptime_days);
}

std::int64_t prune_days(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return prune_days_until(tx, day_of(now) - uptime_days, rows_max);
}

}  // namespace berth::machines
