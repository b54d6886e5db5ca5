// What other features may do with transfers that nobody has claimed. Money moves in the ledger, in
// the same transaction.
#pragma once

#include "funding/store.hpp"

namespace berth::funding {

std::string deposit_reference(const chain::Transfer& transfer);
std::string reference_of(const DepositMark& deposit);

enum class SuspenseEnd { claimed, own, returned };
// Takes a transfer out of suspense, for good. Throws a Problem NOT_FOUND, or CONFLICT when it is
// not in suspense any more. An account comes with `claimed`.
DepositRow end_suspense(ledger::Context context, const DepositMark& deposit, SuspenseEnd end,
                        const std::optional<AccountId>& account);

}  // namespace berth::funding
