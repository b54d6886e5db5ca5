// The word of transfers on the ledger: money is locked, paid and given back for a transfer that is
// known here and for no other; what was paid was signed, and for the address that was asked for.
#pragma once

#include "ledger/report.hpp"

namespace berth::transfers {

class TransferWitness final : public ledger::Witness {
public:
    bool posts(ledger::Movement movement) const override;
    void check_postings(db::Transaction& tx, std::span<const ledger::Posted> postings,
                        ledger::Report& report) const override;
    void check_rows(db::Transaction& tx, const Scope& scope, ledger::Report& report) const override;

private:
    void check_sums(db::Transaction& tx, const Scope& scope, ledger::Report& report) const;
};

}  // namespace berth::transfers
