// Tickets of an account whose owner leaves.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::tickets {

// What was said goes; that there were tickets, and when, stays.
void forget_words(db::Transaction& tx, AccountId account);

}  // namespace berth::tickets
