// What operators may set about events and their readers.
#pragma once

#include "settings/registry.hpp"

namespace berth::delivery {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole events_kept_days{
        30,
        {1, 3650},
        {.label = "Events kept",
         .help = "Readers of events who were away for longer find that some are gone.",
         .unit = "days"}};
    settings::Whole event_streams_per_account{
        20,
        {1, 10'000},
        {.label = "Streams of events of an account",
         .help = "Streams of events that one account may have open at a server.",
         .unit = "streams"}};
    settings::Whole event_streams_max{10'000,
                                      {1, 1'000'000},
                                      {.label = "Streams of events at a time",
                                       .help = "Streams of events that one server holds open.",
                                       .unit = "streams"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (events_kept_days, event_streams_per_account, event_streams_max))

}  // namespace berth::delivery
