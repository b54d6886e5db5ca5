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
};
BOOST_DESCRIBE_STRUCT(Settings, (), (liabilities_every_s))

}  // namespace berth::liabilities
