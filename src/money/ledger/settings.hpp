// What operators may set about how money is shared.
#pragma once

#include "settings/registry.hpp"

namespace berth::ledger {

inline constexpr std::int64_t payout_delay_hours_max = 24 * 90;

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Whole platform_fee_bps{
        1000,
        {0, 10'000},
        {.label = "Platform fee",
         .help = "The platform's part of a charge. A job keeps the one it was "
                 "quoted with.",
         .unit = "hundredths of a percent"}};
    settings::Whole payout_delay_hours{
        24,
        {0, payout_delay_hours_max},
        {.label = "Payout delay",
         .help = "How long a host's earnings mature before they can be paid out, counted from each "
                 "posting, so that a dispute finds them here. A job keeps the one it was quoted "
                 "with; 0 lets them be paid out at once.",
         .unit = "hours"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (platform_fee_bps, payout_delay_hours))

}  // namespace berth::ledger
