// API keys: the secret is shown once and kept as its SHA-256, so that finding a key is one look-up.
#pragma once

#include "accounts/store.hpp"
#include "api/call.hpp"

namespace berth::accounts {

inline constexpr Duration key_lifetime_max = std::chrono::hours(24 * 400);
inline constexpr std::size_t key_prefix_letters = 12;

IssuedKey create_key(api::Call& call, const NewKey& request);
api::Page<ApiKey> show_keys(api::Call& call, const api::PageQuery& query);
void remove_key(api::Call& call, KeyId id);

// A key of an account, without asking anybody: for agent registration.
struct KeyOrder {
    AccountId account;
    std::string name;
    Scopes scopes;
    std::optional<Time> expires_at;
};
IssuedKey issue_key(api::Call& call, const KeyOrder& order);

// Throws a Problem that names the member when a scope is given twice.
void check_scopes(const Scopes& scopes, std::string_view place);

}  // namespace berth::accounts
