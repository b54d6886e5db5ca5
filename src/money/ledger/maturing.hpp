// Earnings that cannot be paid out yet: each posting matures for as long as its job was quoted
// with, so that a dispute finds the money here. One row for each such posting; what of it the host
// still has follows from the job's row.
#pragma once

#include "ledger/journal.hpp"

namespace berth::ledger {

struct Earning {
    TransactionId transaction;
    AccountId host;
    Asset asset{};
    JobId job;
    Micro amount;
    std::int64_t delay_hours = 0;
    Time since;  // when it became known, which is not before it was posted
};
// Nothing where there is no delay.
void let_mature(Context context, const Earning& earning);

struct Maturing {
    Micro amount;                   // less what was refunded of it or is held for disputes
    std::optional<Time> next = {};  // when the first of it can be paid out
    std::optional<Time> last = {};  // and the last
};
// Of a host's earnings, at this time. With the host's row locked, nothing is added meanwhile.
Maturing maturing(db::Transaction& tx, AccountId host, Asset asset, Time now);

// Postings whose rows are not what their jobs say, in words; at most so many of each kind. Those
// before the first transaction are left out, except where a credit paid.
std::vector<std::string> find_wrong_maturing(db::Transaction& tx, std::int64_t rows_max,
                                             const Uuid& first);

}  // namespace berth::ledger
