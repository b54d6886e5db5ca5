// Counts what rentals say of machines, for machines to keep.
#pragma once

#include "machines/figures.hpp"
#include "worker/worker.hpp"

namespace berth::rentals {

inline constexpr std::int64_t machines_per_count_max = 200;

struct CountParts {
    db::Database& database;
    const Clock& clock;
    Random& random;
};
// The machines whose time has come; how many. What ended is counted once, and kept by the day.
std::int64_t count_figures(const CountParts& parts);
// Deletes days that count no more.
std::int64_t prune_rental_days(db::Transaction& tx, Time now, std::int64_t rows_max);
worker::Kind count_figures_kind(const CountParts& parts);

}  // namespace berth::rentals
