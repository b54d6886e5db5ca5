// What operators may set about agents.
#pragma once

#include "api/settings.hpp"

namespace berth::agent_accounts {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_challenge_per_hour{10,
                                            api::rate_bounds,
                                            {.label = "Agent challenges",
                                             .help = "Challenges that one address may ask for.",
                                             .unit = "per hour"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (rate_challenge_per_hour))

}  // namespace berth::agent_accounts
