// What operators may set about the relay.
#pragma once

#include "api/settings.hpp"

namespace berth::relay {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_relay_per_minute{
        120,
        api::rate_bounds,
        {.label = "Relayed requests",
         .help = "Requests to its models that one account may relay.",
         .unit = "per minute"}};
    settings::Whole relay_streams_max{1000,
                                      {1, 1'000'000},
                                      {.label = "Relayed requests at a time",
                                       .help = "Relayed requests of one account that may be open.",
                                       .unit = "requests"}};
    settings::Whole relay_first_byte_s{600,
                                       {1, 86'400},
                                       {.label = "Patience for the first byte",
                                        .help = "How long an engine may take to begin its answer.",
                                        .unit = "s"}};
    settings::Whole relay_silence_s{
        120,
        {1, 86'400},
        {.label = "Patience between bytes",
         .help = "How long an engine may fall silent within its answer.",
         .unit = "s"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (rate_relay_per_minute, relay_streams_max, relay_first_byte_s,
                       relay_silence_s))

}  // namespace berth::relay
