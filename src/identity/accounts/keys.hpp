// API keys: the secret is shown once and kept as its SHA-256, so that finding a key is one look-up.
// People make and revoke them in a session; an agent has no session and does it with a key that it
// has stepped up.
#pragma once

#include "accounts/notices.hpp"

namespace berth::accounts {

inline constexpr Duration key_lifetime_max = std::chrono::hours(24 * 400);
inline constexpr Duration step_up_lifetime = std::chrono::minutes(5);
inline constexpr std::size_t key_prefix_letters = 12;

class Keys {
public:
    explicit Keys(const Notices& notices) : notices_(notices) {}

    IssuedKey create(api::Call& call, const NewKey& request) const;
    api::Page<ApiKey> show(api::Call& call, const api::PageQuery& query) const;
    void remove(api::Call& call, KeyId id) const;

    // A key of an account, without asking anybody: for agent registration.
    struct Order {
        AccountId account;
        std::string name;
        Scopes scopes;
        std::optional<Time> expires_at;
        std::optional<KeyPolicy> policy = {};
    };
    IssuedKey issue(api::Call& call, const Order& order) const;
    void revoke_all(api::Call& call, AccountId account) const;
    // Grants the purpose to the key that calls.
    Grant grant(api::Call& call, Purpose purpose) const;

private:
    const Notices& notices_;
};

}  // namespace berth::accounts
