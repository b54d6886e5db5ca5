// What operators watch of rentals.
#pragma once

#include "db/census.hpp"

namespace berth::rentals {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_jobs",
     .help = "Rentals that have not ended.",
     .by = "state",
     .from = "jobs",
     .where = "state IN ('RESERVED', 'STARTING', 'READY', 'RUNNING', 'STOPPING')"},
};

}  // namespace berth::rentals
