// What operators may set about support.
#pragma once

#include "api/settings.hpp"

namespace berth::tickets {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_tickets_per_hour{10,
                                          api::rate_bounds,
                                          {.label = "Tickets",
                                           .help = "Support tickets that one account may open.",
                                           .unit = "per hour"}};
    settings::Whole rate_ticket_messages_per_hour{
        60,
        api::rate_bounds,
        {.label = "Ticket messages",
         .help = "Messages that one account may write to its tickets.",
         .unit = "per hour"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (rate_tickets_per_hour, rate_ticket_messages_per_hour))

}  // namespace berth::tickets
