// Sums over a stretch of time, for reports: of the whole ledger, of one account, of every host.
// Nothing here writes, and nothing is kept: a posting may be made for a day that is over.
//
// A transaction's id begins with its time, so that a stretch of time is a stretch of the primary
// key; what lies outside of it is not read.
#pragma once

#include "ledger/statement.hpp"

namespace berth::ledger {

struct Stretch {
    Time from;
    Time to;  // the first moment after it
};

// Before every transaction of this moment and of later ones, and after all earlier ones.
TransactionId first_id(Time at);

// All entries of one kind in one pocket.
struct KindSum {
    Asset asset{};
    Pocket pocket{};
    Kind kind{};
    Micro debit;
    Micro credit;
    std::int64_t entries = 0;
};
BOOST_DESCRIBE_STRUCT(KindSum, (), (asset, pocket, kind, debit, credit, entries))
// One list for each stretch.
std::vector<std::vector<KindSum>> sums_by_kind(db::Transaction& tx,
                                               const std::vector<Stretch>& stretches);

// All entries of one pocket before this moment.
struct PocketSum {
    Asset asset{};
    Pocket pocket{};
    Micro debit;
    Micro credit;
};
BOOST_DESCRIBE_STRUCT(PocketSum, (), (asset, pocket, debit, credit))
std::vector<PocketSum> sums_by_pocket(db::Transaction& tx, Time before);

// What an account had in each of its pockets before this moment.
using Pockets = std::array<Micro, customer_pocket_count>;
Pockets pockets_before(db::Transaction& tx, AccountId account, Asset asset, Time before);
// The account's entries of the stretch, oldest first; at most so many.
struct EntriesOf {
    AccountId account;
    Asset asset{};
    Stretch stretch;
};
std::vector<Entry> entries_between(db::Transaction& tx, const EntriesOf& wanted,
                                   std::int64_t rows_max);

// What a host earned in some days; hosts by ascending id.
struct HostSum {
    AccountId account_id;
    Micro earned;  // after the fee and less reversals; may be below zero
    Micro fee;
    Micro paid;
};
BOOST_DESCRIBE_STRUCT(HostSum, (), (account_id, earned, fee, paid))
struct HostsWanted {
    Asset asset{};
    std::int64_t first_day = 0;  // as day_of() counts
    std::int64_t last_day = 0;   // inclusive
    std::optional<AccountId> after = {};
};
std::vector<HostSum> sums_by_host(db::Transaction& tx, const HostsWanted& wanted,
                                  std::int64_t rows_max);

}  // namespace berth::ledger
