// What operators may set about rentals.
#pragma once

#include "api/settings.hpp"

namespace berth::rentals {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_quotes_per_minute{30,
                                           api::rate_bounds,
                                           {.label = "Quotes of an account",
                                            .help = "Quotes that one account may ask for.",
                                            .unit = "per minute"}};
    settings::Whole starts_open_max{
        10,
        {1, 100'000},
        {.label = "Jobs that start",
         .help = "Jobs of one account that may be on their way to READY.",
         .unit = "jobs"}};
    settings::Whole funded_time_min_s{0,
                                      {0, 86'400},
                                      {.label = "Least funded time",
                                       .help = "What the budget of a job must pay for at least.",
                                       .unit = "s"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (rate_quotes_per_minute, starts_open_max, funded_time_min_s))

}  // namespace berth::rentals
