// What operators may set about promotional credits.
#pragma once

#include "api/settings.hpp"

namespace berth::credits {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_campaign_codes_per_hour{
        10,
        api::rate_bounds,
        {.label = "Campaign codes",
         .help = "Codes of campaigns that one account may try.",
         .unit = "per hour"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (rate_campaign_codes_per_hour))

}  // namespace berth::credits
