// What operators may set about every route.
#pragma once

#include "settings/registry.hpp"

namespace berth::api {

inline constexpr settings::Bounds rate_bounds{1, 1'000'000'000};

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Flag admission_paused{
        false,
        {.label = "Admission paused",
         .help = "No new quotes, jobs, budget raises and listings; reads, stops and "
                 "withdrawals stay open."}};
    settings::Whole rate_public_per_minute{120,
                                           rate_bounds,
                                           {.label = "Rate of public routes",
                                            .help = "Requests that one address may make to them.",
                                            .unit = "per minute"}};
    settings::Whole rate_account_per_minute{300,
                                            rate_bounds,
                                            {.label = "Rate of an account",
                                             .help = "Requests that one account may make.",
                                             .unit = "per minute"}};
    settings::Whole rate_invalid_credentials_per_minute{
        300,
        rate_bounds,
        {.label = "Rate of wrong credentials",
         .help = "Wrong keys, sessions and signatures that one address may send.",
         .unit = "per minute"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (admission_paused, rate_public_per_minute, rate_account_per_minute,
                       rate_invalid_credentials_per_minute))

}  // namespace berth::api
