// Parked transfers of an account whose owner leaves; its addresses go by forget_addresses().
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::transfers {

// What waits for a mailed link is called off, with its link. Nothing of it is locked.
void call_off_parked(db::Transaction& tx, AccountId account, Time now);

}  // namespace berth::transfers
