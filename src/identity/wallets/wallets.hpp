// Linking wallets to accounts by a signed message, unlinking them, and step-up.
#pragma once

#include "api/router.hpp"
#include "wallets/challenges.hpp"
#include "wallets/contract_wallets.hpp"
#include "wallets/step_up.hpp"
#include "wallets/store.hpp"

namespace berth::wallets {

inline constexpr std::int64_t links_per_ten_minutes = 30;  // that one account tries

// Binds the address to an account that owns it, or gives the binding that is active already.
Binding bind(api::Call& call, AccountId account, const crypto::Address& address);

class Wallets {
public:
    // `contracts` may be null: then only wallets with a key of their own can be linked.
    Wallets(const accounts::Site& site, const accounts::Accounts& accounts,
            const ContractWallets* contracts)
        : challenges_(site),
          notices_(accounts.notices()),
          step_ups_(challenges_, accounts),
          contracts_(contracts) {}

    void add_routes(api::Router& router) const;

    WalletNonce make_nonce(api::Call& call, const NonceQuery& query) const;
    // Asks the contract where no key has signed.
    using LinkFacts = Challenges::Contract;
    std::function<LinkFacts()> prepare_link(api::Call& call, const LinkWallet& request) const;
    WalletBinding link(api::Call& call, LinkFacts facts, const LinkWallet& request) const;
    WalletBindings list(api::Call& call) const;
    void remove(api::Call& call, const BindingPath& path) const;

private:
    Challenges challenges_;
    const accounts::Notices& notices_;
    StepUps step_ups_;
    const ContractWallets* contracts_;
};

}  // namespace berth::wallets
