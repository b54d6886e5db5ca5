// Addresses and parked transfers of an account whose owner leaves.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::transfers {

// What waits for a mailed link is called off, with its link. Nothing of it is locked.
void call_off_parked(db::Transaction& tx, AccountId account, Time now);
// Saved addresses and what their owner called them; transfers keep where they went.
void forget_addresses(db::Transaction& tx, AccountId account);

}  // namespace berth::transfers
