#include "transfers/trial.hpp"

#include <algorithm>

#include "chain/transaction.hpp"
#include "transfers/settler.hpp"

namespace berth::transfers {
namespace {

using Tried = chain::Trial::Status;

chain::Call call_of(const ledger::Treasury& treasury, const crypto::Address& signer,
                    const TransferRow& transfer) {
    return {.to = treasury.token(transfer.asset),
            .data = payment_data(transfer),
            .gas_max = transfer_gas_max,
            .from = signer};
}

// Tokens answer with true, or, the older ones, with nothing. One that answers false moves nothing.
bool would_pay(const chain::Trial& trial) {
    return trial.status == Tried::succeeds &&
           (trial.result.empty() || trial.result.find_first_not_of('\0') != Bytes::npos);
}

}  // namespace

Bytes payment_data(const TransferRow& transfer) {
    return chain::erc20_transfer({transfer.address, transfer.amount},
                                 transfer.transfer_id.uuid.view());
}

Trials try_payments(chain::Chain& chain, const ledger::Treasury& treasury,
                    const crypto::Address& signer, std::span<const TransferRow> wanted) {
    Trials found;
    std::vector<chain::Call> calls;
    for (const TransferRow& transfer : wanted) calls.push_back(call_of(treasury, signer, transfer));
    const std::vector<chain::Trial> trials = chain.try_calls(calls);
    std::vector<TransferRow> refused;
    std::vector<chain::Call> to_ourselves;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (would_pay(trials.at(i))) {
            found.good.push_back(wanted[i]);
        } else if (trials[i].status == Tried::disputed) {
            found.unclear.push_back(wanted[i]);
        } else {
            TransferRow own = wanted[i];
            own.address = signer;
            refused.push_back(wanted[i]);
            to_ourselves.push_back(call_of(treasury, signer, own));
        }
    }
    if (refused.empty()) return found;
    const std::vector<chain::Trial> own = chain.try_calls(to_ourselves);
    for (std::size_t i = 0; i < refused.size(); ++i) {
        if (would_pay(own.at(i)))
            found.refused_payees.push_back(refused[i]);
        else if (own[i].status == Tried::disputed)
            found.unclear.push_back(refused[i]);
        else
            found.stopped.push_back(refused[i]);
    }
    return found;
}

}  // namespace berth::transfers
