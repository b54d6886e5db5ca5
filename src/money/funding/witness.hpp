// Funding's word on the ledger: every transfer that the ledger says came in is a deposit that is
// known here, with the same amount and owner, and the other way round.
#pragma once

#include "ledger/report.hpp"

namespace berth::funding {

class DepositWitness final : public ledger::Witness {
public:
    bool posts(ledger::Movement movement) const override;
    void check_postings(db::Transaction& tx, std::span<const ledger::Posted> postings,
                        ledger::Report& report) const override;
    void check_rows(db::Transaction& tx, const Scope& scope, ledger::Report& report) const override;
};

}  // namespace berth::funding
