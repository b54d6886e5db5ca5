// What operators may set about money that comes in.
#pragma once

#include "ledger/ledger.hpp"
#include "settings/registry.hpp"

namespace berth::funding {

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Amount deposit_max_micro{Micro{1'000'000'000'000},
                                       {1, ledger::amount_max.value},
                                       {.label = "Largest deposit",
                                        .help = "Most that one funding intent may be for.",
                                        .unit = "micro-units"}};
    settings::Whole open_intents_max{
        100,
        {1, 10'000},
        {.label = "Open intents",
         .help = "Funding intents of one account that may be open at a time.",
         .unit = "intents"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (deposit_max_micro, open_intents_max))

}  // namespace berth::funding
