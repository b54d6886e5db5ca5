// Play money of a simulated server. It comes the way of any deposit that nobody claims: minted on
// the simulated chain, seen by the watcher, parked in suspense, matched with its account by the
// ledger. So books and chain agree.
#pragma once

#include <mutex>
#include <vector>

#include "funding/suspense.hpp"
#include "ledger/treasury.hpp"
#include "simulated/simulated_chain.hpp"

namespace berth::server {

inline constexpr Micro faucet_call_max{1'000'000'000};
inline constexpr Micro faucet_day_max{5'000'000'000};

class Faucet {
public:
    struct Parts {
        db::Database& database;
        simulated::SimulatedChain& chain;
        const ledger::Treasury& treasury;
    };
    explicit Faucet(const Parts& parts) : parts_(parts) {}

    // Mints, and waits until the transfer is in suspense; match() credits it. Throws a Problem
    // UNAVAILABLE when the watcher does not see it.
    funding::DepositMark pour(ledger::Asset asset, Micro amount);

    // The same for an account that asks by itself. Whoever asks again with the same key is given
    // the transfer of before. Throws a Problem CONFLICT for more than faucet_day_max within a day,
    // which a server that is started anew has forgotten.
    struct Wish {
        AccountId account;
        Uuid key;
        ledger::Asset asset{};
        Micro amount;
        friend bool operator==(const Wish&, const Wish&) = default;
    };
    funding::DepositMark pour(const Wish& wish, Time now);

    static void match(ledger::Context context, const funding::DepositMark& deposit,
                      AccountId account);

private:
    struct Poured {
        Wish wish;
        Time at;
        funding::DepositMark deposit;
    };

    void wait_for_watcher() const;
    void wait_until_parked(const funding::DepositMark& deposit) const;
    funding::DepositMark mint(ledger::Asset asset, Micro amount);
    funding::DepositMark mint_once(const Wish& wish, Time now);

    Parts parts_;
    std::mutex mutex_;
    std::vector<Poured> lately_;  // within a day
};

}  // namespace berth::server
