// What operators watch of mail.
#pragma once

#include "db/census.hpp"

namespace berth::mail {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_mails",
     .help = "Mails that were not sent yet.",
     .by = "state",
     .from = "outbox",
     .where = "state = 'waiting'",
     .labels = "waiting"},
};

}  // namespace berth::mail
