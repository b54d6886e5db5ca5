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
     .where = open_transfers,
     .labels = "AWAITING_EMAIL_CONFIRMATION INTENT SUBMITTED"},
    {.name = "berth_transfers_micro",
     .help = "Money that withdrawals and payouts have on its way.",
     .by = "asset",
     .from = "transfers",
     .where = open_transfers,
     .amount = "CAST(SUM(amount) AS BIGINT)",
     .labels = "USDC USDT"},
    {.name = "berth_payees_barred",
     .help = "Addresses that nothing is sent to, because their token refused payments to them.",
     .by = "asset",
     .from = "refused_payees",
     .where = "barred_at IS NOT NULL",
     .labels = "USDC USDT"},
    {.name = "berth_settlement_holds",
     .help = "Reasons for which nothing is signed at present.",
     .by = "why",
     .from = "settlement_holds",
     .where = "ended_at IS NULL"},
};

}  // namespace berth::transfers
