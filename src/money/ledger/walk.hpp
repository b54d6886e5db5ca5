// Going along the chains: every transaction from where an account was proved before to the end that
// its row names. Transactions are only ever added, so several walkers with views of the database of
// their own find the same ones up to a given end.
#pragma once

#include <unordered_set>

#include "ledger/report.hpp"

namespace berth::ledger {

// A row of ledger_accounts.
struct AccountRow {
    AccountKey key;
    Balances balances;
    std::int64_t sequence = 0;
    Bytes head;
    std::int64_t entries = 0;

    std::string name() const {
        return "account " + to_string(key.account) + " " + std::string(ledger::name(key.asset));
    }
};

using Changes = std::unordered_map<AccountKey, Balances, AccountKeyHash>;

// Of one owner's entries that were walked over.
struct Places {
    std::int64_t entries = 0;
    std::int64_t last = 0;
};

// What a walker saw.
struct Tally {
    Totals totals;
    Changes changes;  // of balances, by whoever's pocket it is
    std::unordered_map<AccountKey, Places, AccountKeyHash> places;
    // Of which there is something new; not noted from the beginning, where it would be all.
    std::unordered_set<JobId> jobs;
    std::unordered_set<TransferId> transfers;
    std::unordered_set<DisputeId> disputes;
    Report report;

    void add(Tally&& other);
};

void add(Balances& to, const Balances& change);

class Walker {
public:
    Walker(db::Transaction& tx, const Witnesses& witnesses) : tx_(tx), witnesses_(witnesses) {}

    // All of these accounts, each from its place in `verified`, if it has one.
    void walk(std::span<const AccountRow> accounts, const Verified* verified);
    Tally take() { return std::move(tally_); }

private:
    struct Place;
    struct Line;

    static const db::Query<Line>& page_query();
    void read_page(Place& place, const std::vector<Line>& lines);
    void check_transaction(const Place& place, const Header& header, const Bytes& previous,
                           const Bytes& hash, const std::vector<Entry>& entries);
    void check_legs(const Header& header, const std::vector<Entry>& entries);
    std::optional<Entry> read_entry(const Header& header, const Line& line);
    void expect(bool holds, const Header& header, std::string_view fault);
    void count(const Header& header, const std::vector<Entry>& entries);
    void ask_witnesses();

    db::Transaction& tx_;
    const Witnesses& witnesses_;
    Tally tally_;
    std::vector<Posted> postings_;  // that a witness has to look at
    bool notes_ids_ = false;
};

}  // namespace berth::ledger
