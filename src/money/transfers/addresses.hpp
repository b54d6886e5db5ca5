// What other features may do with withdrawal addresses.
#pragma once

#include "crypto/evm.hpp"
#include "db/db.hpp"
#include "transfers/types.hpp"

namespace berth::transfers {

// Saves an address that its owner has proved with a signature, confirmed at once.
void save_own_address(db::Transaction& tx, AddressId id, AccountId account,
                      const crypto::Address& address, Time now);

}  // namespace berth::transfers
