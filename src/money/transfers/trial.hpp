// Payments are tried before they are signed: a call that the token would revert costs gas, holds up
// the nonces behind it and pays nobody. Where it would, the same payment to ourselves tells whose
// fault that is: the payee's, or the token's, which is paused or has barred the treasury.
#pragma once

#include "chain/chain.hpp"
#include "ledger/treasury.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

struct Trials {
    std::vector<TransferRow> good;
    std::vector<TransferRow> refused_payees;  // the token would pay others, and not these
    std::vector<TransferRow> stopped;         // it would pay nobody, not even ourselves
    std::vector<TransferRow> unclear;         // the providers do not agree: they wait
};
Trials try_payments(chain::Chain& chain, const ledger::Treasury& treasury,
                    const crypto::Address& signer, std::span<const TransferRow> wanted);

// The call data that pays a transfer. Its id goes along: the chain tells for ever which row it
// belongs to.
Bytes payment_data(const TransferRow& transfer);

}  // namespace berth::transfers
