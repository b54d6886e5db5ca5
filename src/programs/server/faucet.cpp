#include "server/faucet.hpp"

#include <algorithm>
#include <chrono>

#include "funding/watcher.hpp"
#include "server/waiting.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {
namespace {

constexpr std::chrono::seconds watcher_wait_max{30};
constexpr Duration faucet_day = std::chrono::hours(24);

}  // namespace

// Before its first look, what comes in is history to it.
void Faucet::wait_for_watcher() const {
    const bool looks = wait_until(watcher_wait_max, [&] {
        const auto watched = parts_.database.read(funding::list_watched);
        return !watched.empty() &&
               std::ranges::all_of(watched, [](const auto& one) { return one.blocks.has_value(); });
    });
    if (!looks) throw Problem(Code::unavailable, "the chain's watcher does not run");
}

void Faucet::wait_until_parked(const funding::DepositMark& deposit) const {
    const bool parked = wait_until(watcher_wait_max, [&] {
        return parts_.database.read(
            [&](db::Transaction& tx) { return funding::find_deposit(tx, deposit).has_value(); });
    });
    if (!parked)
        throw Problem(Code::unavailable,
                      "the chain's watcher has not seen it yet; an admin can match it later");
}

funding::DepositMark Faucet::mint(ledger::Asset asset, Micro amount) {
    const auto row =
        parts_.chain.mint(parts_.treasury.token(asset), *parts_.treasury.address, amount);
    return {chain::to_string(row.hash), 0};
}

funding::DepositMark Faucet::mint_once(const Wish& wish, Time now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(lately_, [&](const Poured& one) { return one.at + faucet_day <= now; });
    Micro sum = wish.amount;
    for (const Poured& one : lately_) {
        if (one.wish == wish) return one.deposit;
        if (one.wish.account == wish.account) sum.value += one.wish.amount.value;
    }
    if (sum > faucet_day_max)
        throw Problem(Code::conflict, "that is more play money than an account gets in a day");
    lately_.push_back({wish, now, mint(wish.asset, wish.amount)});
    return lately_.back().deposit;
}

funding::DepositMark Faucet::pour(ledger::Asset asset, Micro amount) {
    wait_for_watcher();
    const funding::DepositMark deposit = mint(asset, amount);
    wait_until_parked(deposit);
    return deposit;
}

funding::DepositMark Faucet::pour(const Wish& wish, Time now) {
    wait_for_watcher();
    const funding::DepositMark deposit = mint_once(wish, now);
    wait_until_parked(deposit);
    return deposit;
}

void Faucet::match(ledger::Context context, const funding::DepositMark& deposit,
                   AccountId account) {
    treasury::match(context, deposit, account,
                    {audit::Actor::local_operator(), "faucet of a simulated server"});
}

}  // namespace berth::server
