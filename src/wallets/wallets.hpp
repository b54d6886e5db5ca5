// Linking wallets to accounts by a signed message, and unlinking them.
#pragma once

#include "accounts/notices.hpp"
#include "api/router.hpp"
#include "wallets/store.hpp"

namespace berth::wallets {

inline constexpr Duration challenge_lifetime = std::chrono::minutes(5);
// How far a wallet's clock may run ahead of ours, or have lagged when it signed.
inline constexpr Duration clock_skew_max = std::chrono::seconds(60);

// A nonce that nobody can guess: letters and digits alone, as EIP-4361 wants.
std::string make_nonce(Random& random);

// Binds the address to an account that owns it, or gives the binding that is active already.
Binding bind(api::Call& call, AccountId account, const crypto::Address& address);

class Wallets {
public:
    Wallets(const accounts::Site& site, const accounts::Notices& notices)
        : site_(site), notices_(notices) {}

    void add_routes(api::Router& router, const api::RateRules& rates) const;

    WalletNonce make_nonce(api::Call& call) const;
    WalletBinding link(api::Call& call, const LinkWallet& request) const;
    WalletBindings list(api::Call& call) const;
    void remove(api::Call& call, const BindingPath& path) const;

private:
    void check_proof(api::Call& call, const LinkWallet& request,
                     const crypto::Address& address) const;

    const accounts::Site& site_;
    const accounts::Notices& notices_;
};

}  // namespace berth::wallets
