#include "transfers/told.hpp"

#include "base/check.hpp"
#include "transfers/letters.hpp"

namespace berth::transfers {
namespace {

// The tables go by the order of the states.
constexpr bool follows_states(const std::array<TransferKindOfEvent, 7>& kinds) {
    constexpr std::array<std::string_view, 7> ends{".awaiting_email_confirmation",
                                                   ".intent",
                                                   ".submitted",
                                                   ".settled",
                                                   ".failed",
                                                   ".expired",
                                                   ".cancelled"};
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (!kinds[i].type.ends_with(ends[i])) return false;
    return true;
}
static_assert(follows_states(withdrawal_kinds) && follows_states(payout_kinds));
static_assert(static_cast<std::size_t>(TransferState::CANCELLED) + 1 == withdrawal_kinds.size());

}  // namespace

std::vector<events::DeclaredKind> event_kinds() {
    std::vector<events::DeclaredKind> all(withdrawal_kinds.begin(), withdrawal_kinds.end());
    all.insert(all.end(), payout_kinds.begin(), payout_kinds.end());
    all.emplace_back(operations_settlement_held);
    all.emplace_back(operations_treasury_short);
    return all;
}

events::Words withdrawal_words(const TransferFacts& facts, std::string_view transfer) {
    return letters::ended(TransferKind::withdrawal, facts, transfer);
}

events::Words payout_words(const TransferFacts& facts, std::string_view transfer) {
    return letters::ended(TransferKind::payout, facts, transfer);
}

void tell(const db::Context& context, const TransferRow& transfer, std::string_view tx_hash) {
    if (transfer.kind == TransferKind::return_) return;
    TransferFacts facts;
    facts.state = transfer.state;
    facts.amount_micro = transfer.amount;
    facts.asset = transfer.asset;
    facts.address = {crypto::checksummed(transfer.address)};
    if (!tx_hash.empty())
        facts.tx_hash = wire::TransactionHash{std::string(tx_hash)};
    else if (transfer.tx_hash)
        facts.tx_hash = wire::TransactionHash{*transfer.tx_hash};
    if (transfer.reason) facts.reason = events::in_brief(*transfer.reason);
    const auto state = static_cast<std::size_t>(transfer.state);
    const auto& kinds = transfer.kind == TransferKind::withdrawal ? withdrawal_kinds : payout_kinds;
    events::tell(context, kinds.at(state), transfer.account_id, transfer.transfer_id, facts);
}

}  // namespace berth::transfers
