#include "funding/suspense.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/problem.hpp"

namespace berth::funding {
namespace {

std::string_view state_of(SuspenseEnd end) {
    switch (end) {
        case SuspenseEnd::claimed: return "CLAIMED";
        case SuspenseEnd::own: return "OWN";
        case SuspenseEnd::returned: return "RETURNED";
    }
    throw std::logic_error("suspense ends in one of three ways");
}

}  // namespace

std::string deposit_reference(const chain::Transfer& transfer) {
    return reference_of({chain::to_string(transfer.transaction), transfer.ordinal});
}

std::string reference_of(const DepositMark& deposit) {
    return fmt::format("{}:{}:{}", wallets::base_chain_id, deposit.transaction, deposit.ordinal);
}

DepositRow end_suspense(ledger::Context context, const DepositMark& deposit, SuspenseEnd end,
                        const std::optional<AccountId>& account) {
    check((end == SuspenseEnd::claimed) == account.has_value(), "only a claim has an account");
    const auto row = find_deposit(context.tx, deposit);
    if (!row) throw Problem(Code::not_found, "no such transfer to a treasury");
    if (!take_suspense(context.tx, deposit, state_of(end), account, context.now))
        throw Problem(Code::conflict, "this transfer is not in suspense any more");
    return *row;
}

}  // namespace berth::funding
