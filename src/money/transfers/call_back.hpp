// Transfers that were asked for and that nobody has signed yet, called back because their money is
// owed to somebody else: a renter who is refunded, or who disputes a charge.
#pragma once

#include "ledger/ledger.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

struct CallBack {
    AccountId account;
    Asset asset{};
    TransferKind kind = TransferKind::payout;
    Micro wanted;             // no more are called back than make this up
    std::string_view reason;  // that their owner reads
};
struct CalledBack {
    TransferId transfer_id;
    Micro amount;
};
// The newest first; none while it is not known what of them is on the chain already. What they had
// locked is the account's again.
std::vector<CalledBack> call_back(ledger::Context context, const CallBack& wish);

// Ends one that nobody has signed: what it had locked is back where it came from, and the link that
// it waited for is worth nothing. Nothing happens to one that was signed or is over, and nothing,
// with `unless_held`, to one that an operator holds back. Throws a Problem UNAVAILABLE while it
// cannot be known whether the chain has it.
struct Ending {
    std::string_view reason;  // that its owner reads
    bool unless_held = false;
};
void end_unsigned(ledger::Context context, const TransferRow& transfer, const Ending& ending);

}  // namespace berth::transfers
