// What operators watch of machines.
#pragma once

#include "db/census.hpp"

namespace berth::machines {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_machines",
     .help = "Machines that are not retired.",
     .by = "state",
     .from = "machines",
     .where = "retired_at IS NULL",
     .labels = "UNQUALIFIED AVAILABLE ALLOCATED CLEANING DRAINING UNLISTED QUARANTINED"},
    {.name = "berth_machines_reached",
     .help = "Machines that are not retired and that renters reach by a gate.",
     .by = "reach",
     .from = "machines",
     .where = "reach = 'gate' AND retired_at IS NULL",
     .labels = "gate"},
};

}  // namespace berth::machines
