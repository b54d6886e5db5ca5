// What operators watch of webhooks.
#pragma once

#include "db/census.hpp"

namespace berth::delivery {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_webhooks_disabled",
     .help = "Webhooks that the service has disabled.",
     .by = "disabled_cause",
     .from = "webhooks",
     .where = "disabled_cause IS NOT NULL"},
};

}  // namespace berth::delivery
