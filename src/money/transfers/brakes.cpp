#include "transfers/brakes.hpp"

#include "transfers/adopt.hpp"
#include "transfers/settlement.hpp"

namespace berth::transfers {
namespace {

constexpr Duration day = std::chrono::hours(24);

}  // namespace

Brakes::Brakes(db::Transaction& tx, const Settings& limits, Time now)
    : tx_(tx), limits_(limits), now_(now), signed_today_(sum_signed(tx, std::nullopt, now - day)) {}

bool Brakes::let_go(const TransferRow& transfer) {
    if (signed_today_ + transfer.amount > *limits_.payouts_day_max_micro) return false;
    // What goes back to a stranger is on no account's behalf; the day's cap bounds it.
    if (transfer.kind == TransferKind::return_) return true;
    const Of& owner = of(transfer.account_id);
    return !owner.barred &&
           owner.signed_today + transfer.amount <= *limits_.payouts_account_day_max_micro &&
           !(owner.cools && is_cooling(transfer));
}

void Brakes::count(const TransferRow& transfer) {
    if (transfer.kind != TransferKind::return_)
        of(transfer.account_id).signed_today += transfer.amount;
    signed_today_ += transfer.amount;
}

Brakes::Of& Brakes::of(AccountId account) {
    const auto [found, is_new] = accounts_.try_emplace(account);
    if (!is_new) return found->second;
    const auto row = accounts::find_account(tx_, account);
    found->second.barred = !row || row->suspended || is_frozen(tx_, account);
    // An agent's only address is the wallet that it signs with.
    found->second.cools =
        *limits_.address_cooling_hours > 0 && row && row->kind != accounts::Kind::agent;
    found->second.signed_today = sum_signed(tx_, account, now_ - day);
    return found->second;
}

bool Brakes::is_cooling(const TransferRow& transfer) {
    const auto address = find_address(tx_, transfer.account_id, transfer.address_id);
    if (address && !address->cools) return false;
    const Time saved =
        address ? address->confirmed_at.value_or(transfer.created_at) : transfer.created_at;
    return now_ - saved < std::chrono::hours(*limits_.address_cooling_hours);
}

}  // namespace berth::transfers
