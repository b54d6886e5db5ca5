// What other features may do with transfers that nobody has claimed. Money moves in the ledger, in
// the same transaction.
#pragma once

#include "funding/store.hpp"

namespace berth::funding {

std::string deposit_reference(const chain::Transfer& transfer);
std::string reference_of(const DepositMark& deposit);

// "8453:0x…:0", as the ledger's references name a transfer.
std::optional<DepositMark> parse_reference(std::string_view text);

enum class SuspenseEnd { claimed, own, returned };
// Takes a transfer out of suspense, for good. Throws a Problem NOT_FOUND, or CONFLICT when it is
// not in suspense any more. An account comes with `claimed`.
DepositRow end_suspense(ledger::Context context, const DepositMark& deposit, SuspenseEnd end,
                        const std::optional<AccountId>& account);

// One that is being sent back is nobody else's meanwhile; throws as end_suspense() does. In the end
// it is returned, or in suspense again.
DepositRow begin_return(ledger::Context context, const DepositMark& deposit);
void end_return(ledger::Context context, const DepositMark& deposit, bool paid);

}  // namespace berth::funding
