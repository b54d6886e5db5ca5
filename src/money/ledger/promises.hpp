// The part of the proof that is about promises: jobs that balances are held for, transfers they are
// reserved for, and disputes they are in escrow for.
#pragma once

#include "ledger/walk.hpp"

namespace berth::ledger {

// Every one against its entries, or those with something new if `news` is given. Several threads
// may take part, each with a view of the database of its own: a row and its entries are read in one
// of them.
class PromisedRows {
public:
    explicit PromisedRows(const Tally* news);
    ~PromisedRows();

    void check(db::Transaction& tx, Report& report);  // returns when none is left

private:
    struct Queues;
    std::unique_ptr<Queues> queues_;
};

// The open ones against the balances.
void check_open_promises(db::Transaction& tx, std::span<const AccountRow> accounts, Report& report);
// As many rows as were begun. `totals` are those of the whole ledger.
void check_promise_counts(db::Transaction& tx, const Totals& totals, Report& report);

}  // namespace berth::ledger
