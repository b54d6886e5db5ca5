#include "ledger/totals.hpp"

namespace berth::ledger {

void Totals::add(const Header& header, const std::vector<Entry>& legs_of_it) {
    for (const Entry& entry : legs_of_it) {
        Sides& both = sides(header.asset, entry.pocket);
        (entry.amount > Micro{} ? both.credit : both.debit) +=
            entry.amount > Micro{} ? entry.amount : -entry.amount;
    }
    if (legs_of_it.empty()) return;
    const Micro first = legs_of_it.front().amount;
    of(header.asset, header.movement) += first > Micro{} ? first : -first;
    switch (header.movement) {
        case Movement::hold:
        case Movement::credit_hold:
            // A raise of the budget says its number after the job.
            if (legs_of_it.front().job &&
                header.reference == "hold:" + to_string(*legs_of_it.front().job))
                ++jobs;
            break;
        case Movement::withdrawal_lock:
        case Movement::payout_lock: ++transfers; break;
        case Movement::dispute: ++disputes; break;
        default: break;
    }
}

void Totals::add(const Totals& other) {
    for (std::size_t asset = 0; asset < assets.size(); ++asset) {
        for (std::size_t i = 0; i < pockets[asset].size(); ++i) {
            pockets[asset][i].debit += other.pockets[asset][i].debit;
            pockets[asset][i].credit += other.pockets[asset][i].credit;
        }
        for (std::size_t i = 0; i < moved[asset].size(); ++i)
            moved[asset][i] += other.moved[asset][i];
    }
    transactions += other.transactions;
    entries += other.entries;
    jobs += other.jobs;
    transfers += other.transfers;
    disputes += other.disputes;
}

}  // namespace berth::ledger
