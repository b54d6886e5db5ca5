// What operators may set about accounts that are closed.
#pragma once

#include "api/settings.hpp"

namespace berth::closing {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole erase_after_days{
        30,
        {0, 3650},
        {.label = "Wait before erasing",
         .help = "How long after it was closed an account is erased whose owner wished so; until "
                 "then an operator can open it again.",
         .unit = "days"}};
    settings::Whole rate_exports_per_hour{
        6,
        api::rate_bounds,
        {.label = "Exports", .help = "Exports that one account may ask for.", .unit = "per hour"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (erase_after_days, rate_exports_per_hour))

}  // namespace berth::closing
