// What operators watch of rentals.
#pragma once

#include "db/census.hpp"
#include "db/name_list.hpp"
#include "rentals/states.hpp"

namespace berth::rentals {

inline const std::string is_live_sql = "state IN " + db::name_list(live_states);
inline const db::CensusQuestion census[] = {
    {.name = "berth_jobs",
     .help = "Rentals that have not ended.",
     .by = "state",
     .from = "jobs",
     .where = is_live_sql,
     .labels = "RESERVED STARTING READY RUNNING STOPPING"},
};

}  // namespace berth::rentals
