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
// The machines whose time has come, each kind of figure by one statement for all; how many.
std::int64_t count_figures(const CountParts& parts);
worker::Kind count_figures_kind(const CountParts& parts);

}  // namespace berth::rentals
