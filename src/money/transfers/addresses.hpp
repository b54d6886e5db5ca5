// What other features may do with withdrawal addresses.
#pragma once

#include "crypto/evm.hpp"
#include "db/db.hpp"
#include "transfers/types.hpp"

namespace berth::transfers {

// Saves an address that its owner has proved with a signature, confirmed at once.
void save_own_address(db::Context context, AccountId account, const crypto::Address& address);

// Every address of an account whose mailbox or wallet may be somebody else's by now, or whose owner
// leaves, with the links and transfers that wait for one. What was asked for and locked goes on.
void forget_addresses(db::Context context, AccountId account);

// Keeps: money leaves to addresses whose coming and going is in the audit record. Last in its
// transaction, as every event is.
enum class AddressChange { saved, removed };
void record_address(db::Context context, AddressChange change, AccountId account, AddressId id,
                    const crypto::Address& address);

}  // namespace berth::transfers
