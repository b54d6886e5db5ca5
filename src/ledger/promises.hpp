// The part of the proof that is about promises: jobs that balances are held for, transfers they are
// reserved for, and disputes they are in escrow for.
#pragma once

#include "ledger/walk.hpp"

namespace berth::ledger {

// Every one against its entries, or those with something new if `news` is given; and the open ones
// against the balances. `totals` are those of the whole ledger.
void check_promises(db::Transaction& tx, std::span<const AccountRow> accounts, const Tally* news,
                    const Totals& totals, Report& report);

}  // namespace berth::ledger
