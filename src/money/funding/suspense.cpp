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

DepositRow take(ledger::Context context, const DepositMark& deposit, std::string_view state,
                const std::optional<AccountId>& account) {
    const auto row = find_deposit(context.tx, deposit);
    if (!row) throw Problem(Code::not_found, "no such transfer to a treasury");
    if (!take_suspense(context.tx, deposit, state, account, context.now))
        throw Problem(Code::conflict, "this transfer is not in suspense any more");
    return *row;
}

}  // namespace

std::string deposit_reference(const chain::Transfer& transfer) {
    return reference_of({chain::to_string(transfer.transaction), transfer.ordinal});
}

std::string reference_of(const DepositMark& deposit) {
    return fmt::format("{}:{}:{}", wallets::base_chain_id, deposit.transaction, deposit.ordinal);
}

std::optional<DepositMark> parse_reference(std::string_view text) {
    const std::string prefix = std::to_string(wallets::base_chain_id) + ":";
    const std::size_t colon = text.rfind(':');
    if (!text.starts_with(prefix) || colon < prefix.size()) return std::nullopt;
    const auto ordinal = parse_decimal(text.substr(colon + 1));
    if (!ordinal) return std::nullopt;
    return DepositMark{std::string(text.substr(prefix.size(), colon - prefix.size())), *ordinal};
}

DepositRow end_suspense(ledger::Context context, const DepositMark& deposit, SuspenseEnd end,
                        const std::optional<AccountId>& account) {
    check((end == SuspenseEnd::claimed) == account.has_value(), "only a claim has an account");
    return take(context, deposit, state_of(end), account);
}

DepositRow begin_return(ledger::Context context, const DepositMark& deposit) {
    return take(context, deposit, "RETURNING", std::nullopt);
}

void end_return(ledger::Context context, const DepositMark& deposit, bool paid) {
    require(end_returning(context.tx, deposit, paid ? "RETURNED" : "SUSPENSE", context.now),
            "a transfer that is sent back is marked so until it has ended");
}

}  // namespace berth::funding
