// What operators may set about how money is shared.
#pragma once

#include "settings/registry.hpp"

namespace berth::ledger {

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Whole platform_fee_bps{
        1000,
        {0, 10'000},
        {.label = "Platform fee",
         .help = "The platform's part of a charge. A job keeps the one it was "
                 "quoted with.",
         .unit = "hundredths of a percent"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (platform_fee_bps))

}  // namespace berth::ledger
