// What operators watch of the ledger.
#pragma once

#include "db/census.hpp"

namespace berth::ledger {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_jobs_held_micro",
     .help = "Money that is held for rentals and not charged yet.",
     .by = "asset",
     .from = "ledger_jobs",
     .where = "closed = 0",
     .amount = "CAST(SUM(budget - charged) AS BIGINT)",
     .labels = "USDC USDT"},
};

}  // namespace berth::ledger
