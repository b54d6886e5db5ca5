// What operators may set about assisted recovery.
#pragma once

#include "settings/registry.hpp"

namespace berth::recovery {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole recovery_wait_hours{
        168,
        {1, 2160},
        {.label = "Wait of a recovery",
         .help = "How long an account's known addresses may object before another mailbox or "
                 "wallet takes the place of one that was lost.",
         .unit = "hours"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (recovery_wait_hours))

}  // namespace berth::recovery
