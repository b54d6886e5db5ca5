// Linking wallets to accounts by a signed message, unlinking them, and step-up.
#pragma once

#include "api/router.hpp"
#include "wallets/challenges.hpp"
#include "wallets/step_up.hpp"
#include "wallets/store.hpp"

namespace berth::wallets {

// Binds the address to an account that owns it, or gives the binding that is active already.
Binding bind(api::Call& call, AccountId account, const crypto::Address& address);

class Wallets {
public:
    Wallets(const accounts::Site& site, const accounts::Accounts& accounts)
        : challenges_(site), notices_(accounts.notices()), step_ups_(challenges_, accounts) {}

    void add_routes(api::Router& router) const;

    WalletNonce make_nonce(api::Call& call) const;
    WalletBinding link(api::Call& call, const LinkWallet& request) const;
    WalletBindings list(api::Call& call) const;
    void remove(api::Call& call, const BindingPath& path) const;

private:
    Challenges challenges_;
    const accounts::Notices& notices_;
    StepUps step_ups_;
};

}  // namespace berth::wallets
