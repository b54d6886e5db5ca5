// Reading the ledger: statements and the entries of a job. Nothing here writes.
#pragma once

#include "ledger/journal.hpp"

namespace berth::ledger {

// Where a page of a statement ends: the places, in each asset, that it has shown already. An entry
// gets its place while its account's row is locked, so whoever commits later has a higher one, and
// stands above every page that was read before, whatever its time and id say.
struct Mark {
    std::array<std::int64_t, assets.size()> places{};
};
struct StatementLine {
    Entry entry;
    Mark mark;  // of a page that ends here
};
// The account's entries before the mark, newest first; all of them without one.
std::vector<StatementLine> statement(db::Transaction& tx, AccountId account,
                                     const std::optional<Mark>& before, std::int64_t rows_max);

// Every entry of the job that belongs to a customer or to the fee, oldest first.
std::vector<Entry> entries_of(db::Transaction& tx, JobId job, std::int64_t rows_max);

}  // namespace berth::ledger
