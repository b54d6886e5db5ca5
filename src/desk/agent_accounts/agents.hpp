// Agent registration: a challenge to sign, and the account and key for who signed it.
#pragma once

#include "accounts/accounts.hpp"
#include "agent_accounts/types.hpp"
#include "api/router.hpp"
#include "db/migrate.hpp"
#include "wallets/challenges.hpp"

namespace berth::agent_accounts {

class Agents {
public:
    Agents(const accounts::Site& site, const accounts::Accounts& accounts)
        : site_(site), accounts_(accounts), challenges_(site) {}

    void add_routes(api::Router& router) const;

    IssuedChallenge challenge(api::Call& call, const AskChallenge& request) const;
    RegisteredAgent enlist(api::Call& call, const RegisterAgent& request) const;

private:
    std::string terms_url() const { return site_.base_url + "/terms"; }

    const accounts::Site& site_;
    const accounts::Accounts& accounts_;
    wallets::Challenges challenges_;
};

// How to reach whoever runs an agent, as it said itself.
std::optional<std::string> find_operator_contact(db::Transaction& tx, AccountId account);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::agent_accounts
