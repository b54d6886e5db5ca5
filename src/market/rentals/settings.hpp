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
        {0, 100'000},
        {.label = "Jobs that hold machines",
         .help =
             "Jobs of one account whose machine is not free again and that have not been billed "
             "for five minutes. 0: any number.",
         .unit = "jobs"}};
    settings::Whole unbilled_starts_per_hour{
        20,
        {0, 100'000},
        {.label = "Unbilled starts of an account",
         .help = "Jobs of one account that may end within an hour without having been billed, "
                 "through no fault of the host. 0: any number.",
         .unit = "per hour"}};
    settings::Whole funded_time_min_s{
        300,
        {0, 86'400},
        {.label = "Least funded time",
         .help = "What the budget of a job must pay for at least, or its whole duration where that "
                 "is shorter.",
         .unit = "s"}};
    settings::Whole retrieval_min_s{
        60,
        {60, 900},
        {.label = "Least time to fetch files",
         .help = "After its end the files of a job can be fetched for as long as it was billed, at "
                 "least this long and at most 900 s. 900: always that long.",
         .unit = "s"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (rate_quotes_per_minute, starts_open_max, unbilled_starts_per_hour,
                       funded_time_min_s, retrieval_min_s))

}  // namespace berth::rentals
