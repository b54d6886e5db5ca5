// What there is on the chain for all that is owed: the one sum that the proof of liabilities and
// the check of the ledger go by.
#pragma once

#include "chain/chain.hpp"
#include "funding/suspense.hpp"
#include "ledger/treasury.hpp"

namespace berth::treasury {

struct Holdings {
    Micro treasuries;  // the present one, and every one that was ever named to anybody
    Micro cold;        // at the pinned addresses, whatever the books say of them

    Micro all() const { return treasuries + cold; }
};

// At the end of a final block. Every address is counted once. Asks the chain.
Holdings find_holdings(chain::Chain& chain, const ledger::Treasury& ours,
                       const std::vector<funding::Watched>& watched, ledger::Asset asset,
                       std::int64_t block);

// What came back from cold storage and is not booked yet: it is in suspense, and owed to nobody.
Micro find_returning(db::Transaction& tx, const ledger::Treasury& ours, ledger::Asset asset);

}  // namespace berth::treasury
