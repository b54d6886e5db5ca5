// The proof that the ledger is right, from its rows alone:
//  - every transaction has the legs that its movement allows, and they sum to zero;
//  - every chain of hashes is whole: no gap, no changed row, and its end is where the account says;
//  - every balance and total equals the entries behind it;
//  - what is held equals the open jobs, what is reserved the open transfers, what is in escrow the
//    open disputes;
//  - every job, transfer and dispute is what its entries say, and none is missing;
//  - there is no entry and no transaction besides these.
//
// It cannot find what whoever can write to the database left out everywhere at once: the last
// transactions of a chain together with all they changed. Against that helps what is elsewhere: the
// treasury on chain, backups, and an older report.
#pragma once

#include <string>
#include <vector>

#include "ledger/journal.hpp"

namespace berth::ledger {

inline constexpr std::size_t faults_max = 100;  // what is found beyond is counted, not described

struct TrialRow {
    Asset asset{};
    Pocket pocket{};
    Micro debit;
    Micro credit;
};

struct Report {
    std::vector<std::string> faults;
    std::int64_t fault_count = 0;
    std::int64_t accounts = 0;
    std::int64_t transactions = 0;
    std::int64_t entries = 0;
    std::vector<TrialRow> trial_balance;

    bool sound() const { return fault_count == 0; }
    void add(std::string fault) {
        ++fault_count;
        if (faults.size() < faults_max) faults.push_back(std::move(fault));
    }
};

// Reads everything, in pages; the view is that of one read transaction.
Report check_ledger(db::Transaction& tx);

// The trial balance as a table, then the faults; ends in "sound" or "NOT SOUND".
std::string to_text(const Report& report);

}  // namespace berth::ledger
