// Totals by day: what an account spent or earned, and what a machine earned, one row for each kind
// of entry. They are written in the transaction that adds the entries, so reading a month of them
// costs a month's days, however much has happened on them.
#pragma once

#include "ledger/journal.hpp"

namespace berth::ledger {

// Adds these entries, of one transaction, to their days. The rows of an account's days, and of its
// machines', are changed only by whoever has changed the account's own row before: that orders
// them.
void count_days(db::Transaction& tx, const Posting& posting, const std::vector<Entry>& entries);

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

// What a renter's jobs cost in these days, less refunds; may be below zero.
Micro spent(db::Transaction& tx, AccountId renter, Asset asset, const Days& days);

// Days whose totals are not the sums of their entries, in words; at most so many.
std::vector<std::string> find_wrong_days(db::Transaction& tx, std::int64_t rows_max);

}  // namespace berth::ledger
