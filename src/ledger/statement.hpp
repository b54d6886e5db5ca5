// Reading the ledger: statements, the entries of a job, and sums by day. Nothing here writes.
#pragma once

#include <vector>

#include "ledger/journal.hpp"

namespace berth::ledger {

// Where a page of a statement ends.
struct Mark {
    TransactionId transaction;
    std::int64_t ordinal = 0;
};
// The account's entries before the mark, newest first; all of them without one.
std::vector<Entry> statement(db::Transaction& tx, AccountId account,
                             const std::optional<Mark>& before, std::int64_t rows_max);

// Every entry of the job that belongs to a customer or to the fee, oldest first.
std::vector<Entry> entries_of(db::Transaction& tx, JobId job, std::int64_t rows_max);

struct Days {
    std::int64_t first = 0;  // as day_of() counts
    std::int64_t last = 0;   // inclusive
};
struct DayEarnings {
    std::int64_t day = 0;
    Micro earned = {};  // below zero on a day with more reversals than earnings
    Micro fee = {};
    Micro paid = {};
    std::int64_t rentals = 0;  // jobs that earned on that day
};
// One row per day, also for days on which nothing happened.
std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, AccountId host, Asset asset,
                                         const Days& days);
std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, MachineId machine, Asset asset,
                                         const Days& days);

// Who earns with the machine; empty when no job has run on it.
std::optional<AccountId> find_machine_owner(db::Transaction& tx, MachineId machine);

// What a renter's jobs cost in these days, less refunds; may be below zero.
Micro spent(db::Transaction& tx, AccountId renter, Asset asset, const Days& days);

}  // namespace berth::ledger
