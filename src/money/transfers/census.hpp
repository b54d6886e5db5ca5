// What operators watch of what leaves the treasury.
#pragma once

#include "db/census.hpp"

namespace berth::transfers {

inline constexpr std::string_view open_transfers =
    "state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED')";

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_transfers",
     .help = "Withdrawals and payouts that have not ended.",
     .by = "state",
     .from = "transfers",
     .where = open_transfers},
    {.name = "berth_transfers_micro",
     .help = "Money that withdrawals and payouts have on its way.",
     .by = "asset",
     .from = "transfers",
     .where = open_transfers,
     .amount = "CAST(SUM(amount) AS BIGINT)"},
};

}  // namespace berth::transfers
