// What operators may set about the proof of liabilities.
#pragma once

#include "settings/setting.hpp"

#include <boost/describe.hpp>

namespace berth::liabilities {

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Whole liabilities_every_s{3600,
                                        {60, 7 * 86'400},
                                        {.label = "Proof of liabilities",
                                         .help = "How often all that is owed is proved anew.",
                                         .unit = "seconds"}};
    settings::Whole liabilities_post_hours{
        0,
        {0, 720},
        {.label = "Proof of liabilities on the chain",
         .help = "How often the newest records are written into the chain, by an address of their "
                 "own that needs gas (the log names it). 0: never.",
         .unit = "hours"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (liabilities_every_s, liabilities_post_hours))

}  // namespace berth::liabilities
