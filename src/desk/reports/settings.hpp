// What operators may set about reports.
#pragma once

#include "api/settings.hpp"

namespace berth::reports {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_statements_per_hour{
        60,
        api::rate_bounds,
        {.label = "Statements",
         .help = "Statements and years of earnings that one account may ask for.",
         .unit = "per hour"}};
    settings::Whole rate_reports_per_hour{
        30,
        api::rate_bounds,
        {.label = "Reports",
         .help = "Figures, trial balances and pages of hosts' earnings that one operator may ask "
                 "for.",
         .unit = "per hour"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (rate_statements_per_hour, rate_reports_per_hour))

}  // namespace berth::reports
