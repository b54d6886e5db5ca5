#include "transfers/brakes.hpp"

#include <algorithm>

#include "block_list/block_list.hpp"
#include "transfers/adopt.hpp"
#include "transfers/payees.hpp"
#include "transfers/settlement.hpp"

namespace berth::transfers {
namespace {

constexpr Duration day = std::chrono::hours(24);

Micro of_account(const std::map<AccountId, Micro>& sums, AccountId account) {
    const auto found = sums.find(account);
    return found == sums.end() ? Micro{} : found->second;
}

}  // namespace

Brakes::Brakes(db::Transaction& tx, const Settings& limits, Time now)
    : tx_(tx), limits_(limits), now_(now) {}

std::optional<Wait> Brakes::brake_on(const TransferRow& transfer) {
    if (transfer.held_why) return Wait{WaitsFor::settlement_hold};
    if (is_above_day_cap(transfer)) return Wait{WaitsFor::day_cap};
    if (is_blocked(transfer) || is_refused(transfer)) return Wait{WaitsFor::settlement_hold};
    // What goes back to a stranger is on no account's behalf; the day's cap bounds it.
    if (transfer.kind == TransferKind::return_) return std::nullopt;
    return brake_of_owner(transfer);
}

std::optional<Wait> Brakes::brake_of_owner(const TransferRow& transfer) {
    const Of& owner = of(transfer.account_id);
    if (owner.barred) return Wait{WaitsFor::suspended};
    if (owner.frozen) return Wait{WaitsFor::settlement_hold};
    if (owner.cools)
        if (const auto until = cooling_until(transfer)) return Wait{WaitsFor::cooling_off, until};
    if (owner.signed_today + transfer.amount > *limits_.payouts_account_day_max_micro)
        return Wait{WaitsFor::account_cap, cap_frees(transfer)};
    return std::nullopt;
}

std::optional<Wait> Brakes::wait_of(const TransferRow& transfer) {
    if (transfer.state == TransferState::SUBMITTED) return Wait{WaitsFor::chain};
    if (transfer.state != TransferState::INTENT) return std::nullopt;
    if (!is_held_) is_held_ = find_hold(tx_).has_value();
    if (*is_held_) return Wait{WaitsFor::settlement_hold};
    if (*limits_.payouts_paused) return Wait{WaitsFor::payouts_paused};
    if (const auto brake = brake_on(transfer)) return brake;
    if (!transfer.short_of) return std::nullopt;
    switch (*transfer.short_of) {
        case ShortOf::gas: return Wait{WaitsFor::gas};
        case ShortOf::token: return Wait{WaitsFor::chain};
        case ShortOf::tokens: break;
    }
    return Wait{WaitsFor::settlement_hold};
}

void Brakes::count(const TransferRow& transfer) {
    if (transfer.kind != TransferKind::return_)
        of(transfer.account_id).signed_today += transfer.amount;
    if (signed_today_) *signed_today_ += transfer.amount;
    if (!net_) return;
    net_->used = net_->with(transfer);
    net_->out[transfer.account_id] += transfer.amount;
}

// All that was signed is asked for first, since mostly it fits.
bool Brakes::is_above_day_cap(const TransferRow& transfer) {
    const Micro most = *limits_.payouts_day_max_micro;
    if (!signed_today_) signed_today_ = sum_signed(tx_, std::nullopt, now_ - day);
    if (*signed_today_ + transfer.amount <= most) return false;
    if (!net_) {
        net_ =
            Net{sum_signed_by_account(tx_, now_ - day), funding::sum_claimed(tx_, now_ - day), {}};
        for (const auto& [account, out] : net_->out)
            net_->used += std::max(Micro{}, out - of_account(net_->in, account));
    }
    return net_->with(transfer) > most;
}

Micro Brakes::Net::with(const TransferRow& transfer) const {
    const Micro came = of_account(in, transfer.account_id);
    const Micro left = of_account(out, transfer.account_id);
    return used - std::max(Micro{}, left - came) + std::max(Micro{}, left + transfer.amount - came);
}

// Mostly nothing is, and then one question is enough.
bool Brakes::is_blocked(const TransferRow& transfer) {
    if (!blocks_none_) blocks_none_ = block_list::is_empty(tx_);
    return !*blocks_none_ && block_list::is_blocked(tx_, transfer.address);
}

// It is called off unless somebody holds it back; whatever a trial says, it is not signed.
bool Brakes::is_refused(const TransferRow& transfer) {
    if (!bars_any_) bars_any_ = bars_any(tx_);
    return *bars_any_ && is_barred(tx_, {transfer.asset, transfer.address});
}

// When enough of what was signed is a day old; never, for one that is above the cap by itself.
std::optional<Time> Brakes::cap_frees(const TransferRow& transfer) {
    const Micro most = *limits_.payouts_account_day_max_micro;
    if (transfer.amount > most) return std::nullopt;
    Micro counted = of(transfer.account_id).signed_today;
    for (const SignedAmount& one : list_signed_amounts(tx_, transfer.account_id, now_ - day)) {
        counted = counted - one.amount;
        if (counted + transfer.amount <= most) return one.signed_at + day;
    }
    return std::nullopt;
}

Brakes::Of& Brakes::of(AccountId account) {
    const auto [found, is_new] = accounts_.try_emplace(account);
    if (!is_new) return found->second;
    const auto row = accounts::find_account(tx_, account);
    found->second.barred = !row || row->suspended;
    found->second.frozen = (row && row->frozen) || is_frozen(tx_, account);
    // An agent's only address is the wallet that it signs with.
    found->second.cools =
        *limits_.address_cooling_hours > 0 && row && row->kind != accounts::Kind::agent;
    found->second.signed_today = sum_signed(tx_, account, now_ - day);
    return found->second;
}

std::optional<Time> Brakes::cooling_until(const TransferRow& transfer) {
    const auto address = find_address(tx_, transfer.account_id, transfer.address_id);
    if (address && !address->cools) return std::nullopt;
    const Time saved =
        address ? address->confirmed_at.value_or(transfer.created_at) : transfer.created_at;
    const Time until = saved + std::chrono::hours(*limits_.address_cooling_hours);
    return until > now_ ? std::optional(until) : std::nullopt;
}

}  // namespace berth::transfers
