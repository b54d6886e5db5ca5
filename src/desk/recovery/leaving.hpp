// Recoveries of an account whose owner leaves.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::recovery {

// What waits for this account is called off: nobody gets into one that is closed.
void end_recoveries(db::Transaction& tx, AccountId account, Time now);
// Forgets what was said of the owner of an account whose recoveries are over: addresses, reasons
// and evidence. That there were recoveries, by whom and when, stays.
void forget_account(db::Transaction& tx, AccountId account);

}  // namespace berth::recovery
