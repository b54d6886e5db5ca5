#include "ledger/report.hpp"

#include <fmt/format.h>

#include <iterator>

namespace berth::ledger {

std::vector<TrialRow> Report::trial_balance() const {
    std::vector<TrialRow> rows;
    for (const Asset asset : assets)
        for (int i = 0; i < pocket_count; ++i) {
            const auto pocket = static_cast<Pocket>(i);
            const auto& [debit, credit] = verified.totals.sides(asset, pocket);
            if (debit != Micro{} || credit != Micro{})
                rows.push_back({asset, pocket, debit, credit});
        }
    return rows;
}

void Report::add(Report&& part) {
    for (std::string& fault : part.faults)
        if (faults.size() < faults_max) faults.push_back(std::move(fault));
    fault_count += part.fault_count;
    std::move(part.notes.begin(), part.notes.end(), std::back_inserter(notes));
}

std::string to_text(const Report& report) {
    std::string text = fmt::format("{:<6}{:<12}{:>22}{:>22}{:>22}\n", "asset", "pocket", "debit",
                                   "credit", "balance");
    for (const TrialRow& row : report.trial_balance())
        text += fmt::format("{:<6}{:<12}{:>22}{:>22}{:>22}\n", name(row.asset), name(row.pocket),
                            row.debit.value, row.credit.value, (row.credit - row.debit).value);
    for (const std::string& note : report.notes) text += note + "\n";
    for (const std::string& fault : report.faults) text += fault + "\n";
    if (report.fault_count > static_cast<std::int64_t>(report.faults.size())) text += "and more\n";
    const Totals& totals = report.verified.totals;
    text += fmt::format("{} accounts, {} transactions ({} looked at), {} entries, {} faults: {}\n",
                        report.accounts, totals.transactions, report.looked_at, totals.entries,
                        report.fault_count, report.sound() ? "sound" : "NOT SOUND");
    return text;
}

}  // namespace berth::ledger
