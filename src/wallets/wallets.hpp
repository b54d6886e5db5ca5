// Linking wallets to accounts by a signed message, and unlinking them.
#pragma once

#include "accounts/notices.hpp"
#include "api/router.hpp"
#include "wallets/challenges.hpp"
#include "wallets/store.hpp"

namespace berth::wallets {

// Binds the address to an account that owns it, or gives the binding that is active already.
Binding bind(api::Call& call, AccountId account, const crypto::Address& address);

class Wallets {
public:
    Wallets(const accounts::Site& site, const accounts::Notices& notices)
        : challenges_(site), notices_(notices) {}

    void add_routes(api::Router& router, const api::RateRules& rates) const;

    WalletNonce make_nonce(api::Call& call) const;
    WalletBinding link(api::Call& call, const LinkWallet& request) const;
    WalletBindings list(api::Call& call) const;
    void remove(api::Call& call, const BindingPath& path) const;

private:
    Challenges challenges_;
    const accounts::Notices& notices_;
};

}  // namespace berth::wallets
