// Every feature of the service, made in order and handed what it depends on. None of them needs the
// database to be made: they meet it in the transactions of their calls.
#pragma once

#include "accounts/accounts.hpp"
#include "agents/agents.hpp"
#include "server/settings.hpp"
#include "wallets/wallets.hpp"

namespace berth::server {

// The keys of --secrets, each in a file of its own.
struct Secrets {
    Bytes cursor;  // signs list cursors
    Bytes code;    // keys the hashes of emailed codes and CSRF tokens
    Bytes seal;    // encrypts what the database must not be able to read
};
Secrets load_secrets(const std::string& folder, Random& random);

struct Features {
    Features(const Settings& settings, const Secrets& secrets);

    // Every migration of the program, in order.
    static std::vector<db::Migration> schema();
    void add_routes(api::Router& router) const;
    std::vector<worker::Kind> tasks(db::Database& database, const Clock& clock,
                                    mail::Transport& transport) const;

    api::RateRules rates;
    accounts::Site site;
    crypto::Sealer sealer;
    mail::Outbox outbox;
    accounts::Accounts accounts;
    wallets::Wallets wallets;
    agents::Agents agents;
};

}  // namespace berth::server
