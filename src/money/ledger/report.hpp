// What a proof of the ledger found, and what it asks of the features that move money.
//
// The ledger knows neither deposits nor withdrawals. Each feature that has money moved contributes
// a Witness: it holds the ledger's transactions against its own rows, and its rows against the
// ledger, so that neither can have something that the other does not have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ledger/verified.hpp"

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
    std::vector<std::string> notes;  // what a person should read, and is no fault
    std::int64_t accounts = 0;
    std::int64_t looked_at = 0;  // transactions; those that were proved before are not among them
    Verified verified;           // for the next proof, if this one found no fault
    // What is being sent back out of suspense; until it is booked it may have left or not.
    std::array<Micro, assets.size()> leaving_suspense{};

    std::vector<TrialRow> trial_balance() const;
    bool sound() const { return fault_count == 0; }
    void add(std::string fault) {
        ++fault_count;
        if (faults.size() < faults_max) faults.push_back(std::move(fault));
    }
    void expect(bool holds, std::string fault) {
        if (!holds) add(std::move(fault));
    }
    // Of a transaction, a job and so on. Nearly all of them are right, so the sentence is made only
    // for one that is not.
    template <class SomeId>
    void expect(bool holds, std::string_view what, const SomeId& id, std::string_view fault) {
        if (!holds) add(std::string(what).append(" ").append(to_string(id)).append(fault));
    }
    void add(Report&& part);  // its faults and notes
};

// The trial balance as a table, then notes and faults; ends in "sound" or "NOT SOUND".
std::string to_text(const Report& report);

// A transaction as its witness must know it.
struct Posted {
    TransactionId id;
    Movement movement{};
    Asset asset{};
    AccountId account;  // the customer; the platform where there is none
    Micro amount;       // above zero
    std::string reference;

    std::string name() const { return "transaction " + to_string(id); }
    // What the reference says after its first word: "deposit:8453:0x…:0" is of "8453:0x…:0".
    std::string_view subject() const {
        return std::string_view(reference).substr(reference.find(':') + 1);
    }
};

class Witness {
public:
    virtual ~Witness() = default;

    // Whether transactions of this movement are posted for this feature.
    virtual bool posts(Movement movement) const = 0;
    // Transactions of such movements, each against the row it was posted for. Rows may have gone on
    // since. Called from several threads.
    virtual void check_postings(db::Transaction& tx, std::span<const Posted> postings,
                                Report& report) const = 0;

    struct Scope {
        const Totals& totals;       // of the whole ledger
        std::optional<Time> since;  // rows that are over and older were looked at before
        bool adds_up = true;        // all rows are added up, those too
    };
    // The feature's rows against the ledger, in the same view of the database as the totals.
    virtual void check_rows(db::Transaction& tx, const Scope& scope, Report& report) const = 0;
};
using Witnesses = std::vector<const Witness*>;

}  // namespace berth::ledger
