// The proof that the ledger is right:
//  - every transaction has the legs that its movement allows, and they sum to zero;
//  - every chain of hashes is whole: no gap, no changed row, and its end is where the account says;
//  - every balance and total equals the entries behind it;
//  - what is held equals the open jobs, what is reserved the open transfers, what is in escrow the
//    open disputes;
//  - every job, transfer and dispute is what its entries say, and none is missing; what a job was
//    charged follows from its rate and runtime;
//  - there is no entry and no transaction besides these (of what is old: where it counts);
//  - every transaction is what its witness says, and the other way round (see report.hpp).
//
// It cannot find what whoever can write to the database left out everywhere at once: the last
// transactions of a chain together with all they changed. Against that helps what is elsewhere: the
// treasury on chain, backups, and what was verified before.
#pragma once

#include "ledger/report.hpp"

namespace berth::ledger {

struct CheckOptions {
    const Verified* verified = nullptr;  // go on from there; null: from the beginning
    // Also counts and adds up what was verified before, which takes a pass over every table.
    // Without it what a proof costs follows what is new; what was taken away from or changed in
    // old rows is found where it changes a balance, something open or something new, and by the
    // next that counts.
    bool counts = true;
    Witnesses witnesses = {};
    int threads = 1;  // each with a view of the database of its own
    Time now = {};    // what is found is as of then
};

Report check_ledger(db::Database& database, const CheckOptions& options);
// In one transaction, by the calling thread.
Report check_ledger(db::Transaction& tx, const CheckOptions& options = {});

}  // namespace berth::ledger
