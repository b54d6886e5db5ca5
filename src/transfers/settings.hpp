// What operators may set about money that goes out.
#pragma once

#include "ledger/ledger.hpp"
#include "settings/registry.hpp"

namespace berth::transfers {

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Amount transfer_min_micro{
        Micro{1'000'000}, {1, ledger::amount_max.value},
        {.label = "Smallest transfer",
         .help = "Least that one withdrawal or payout may be for, unless it is all there is.",
         .unit = "micro-units"}};
    settings::Whole gas_fee_max_gwei{
        50, {1, 10'000}, {.label = "Highest gas fee",
                          .help = "Most that is paid per gas for a transfer on chain.",
                          .unit = "gwei"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (transfer_min_micro, gas_fee_max_gwei))

}  // namespace berth::transfers
