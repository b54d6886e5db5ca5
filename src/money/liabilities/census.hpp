// What operators watch of the proof of liabilities.
#pragma once

#include "db/census.hpp"

namespace berth::liabilities {

inline constexpr std::string_view newest_records =
    "(SELECT r.asset, r.total, r.treasury, r.as_of FROM liability_records r JOIN "
    "(SELECT asset, MAX(number) AS number FROM liability_records GROUP BY asset) n "
    "ON r.asset = n.asset AND r.number = n.number) newest";

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_liabilities_total_micro",
     .help = "All that is owed, by the newest proof.",
     .by = "asset",
     .from = newest_records,
     .amount = "MAX(total)"},
    {.name = "berth_liabilities_covered",
     .help = "1 when the chain has what is owed, 0 when not, by the newest proof.",
     .by = "asset",
     .from = newest_records,
     .where = "treasury IS NOT NULL",
     .amount = "CAST(MAX(CASE WHEN treasury >= total THEN 1 ELSE 0 END) AS BIGINT)"},
    {.name = "berth_liabilities_as_of_timestamp_seconds",
     .help = "When the newest proof was made.",
     .by = "asset",
     .from = newest_records,
     .amount = "MAX(as_of) / 1000000"},
};

}  // namespace berth::liabilities
