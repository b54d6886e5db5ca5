// Every feature of the service, made in order and handed what it depends on. None of them needs the
// database to be made: they meet it in the transactions of their calls.
#pragma once

#include "accounts/accounts.hpp"
#include "admin/admin.hpp"
#include "agent_accounts/agents.hpp"
#include "billing/billing.hpp"
#include "catalog/catalog.hpp"
#include "chain/chain.hpp"
#include "closing/closing.hpp"
#include "credits/credits.hpp"
#include "crypto/secp256k1.hpp"
#include "db/census.hpp"
#include "delivery/delivery.hpp"
#include "events/registry.hpp"
#include "four_eyes/four_eyes.hpp"
#include "funding/watcher.hpp"
#include "gates/desk.hpp"
#include "geo/geo.hpp"
#include "guests/guests.hpp"
#include "hosts/hosts.hpp"
#include "http/line_client.hpp"
#include "liabilities/liabilities.hpp"
#include "machines/host_agents.hpp"
#include "machines/upkeep.hpp"
#include "offers/offers.hpp"
#include "offers/templates.hpp"
#include "recovery/recovery.hpp"
#include "relay/relay.hpp"
#include "rentals/rentals.hpp"
#include "reports/reports.hpp"
#include "server/contract_wallets.hpp"
#include "server/secrets.hpp"
#include "server/settings.hpp"
#include "settings/live.hpp"
#include "tickets/desk.hpp"
#include "transfers/returns.hpp"
#include "transfers/settler.hpp"
#include "transfers/transfers.hpp"
#include "wallets/wallets.hpp"

namespace berth::server {

// What operators watch of every feature's tables.
std::vector<db::CensusQuestion> census_questions();

// Every kind of event that a feature tells.
events::Registry event_registry();

struct Features {
    // `start` is what the process was started with: what is pinned is read from it once, the rest
    // by every call anew. `chain` may be null: no money comes in or goes out. So may `jobs`: then
    // there are none; and `prober`: then endpoints are looked at over the network.
    Features(const settings::Snapshot& start, const Secrets& secrets, chain::Chain* chain,
             const offers::LiveJobs* jobs = nullptr,
             const std::optional<machines::ProofRules>& proof_rules = {},
             const rentals::EndpointProber* prober = nullptr);

    void add_routes(api::Router& router);
    api::Authenticators authenticators();
    struct TaskParts {
        db::Database& database;
        const Clock& clock;
        Random& random;
        mail::Transport& transport;
        const settings::Live& settings;
    };
    std::vector<worker::Kind> tasks(const TaskParts& parts) const;
    void add_chain_tasks(const TaskParts& parts, std::vector<worker::Kind>& kinds) const;

    chain::Chain* chain;
    Duration chain_poll;
    std::optional<crypto::SigningKey> treasury_key;
    accounts::Site site;
    ledger::Treasury treasury;
    std::shared_ptr<funding::WatcherVitals> watcher_vitals =
        std::make_shared<funding::WatcherVitals>();
    std::shared_ptr<transfers::SettlerVitals> settler_vitals =
        std::make_shared<transfers::SettlerVitals>();
    std::vector<std::string> recurring;  // kinds of tasks() that come again by themselves
    std::string blocked_addresses_file;  // empty: none
    geo::Table countries;
    crypto::Sealer sealer;
    mail::Outbox outbox;
    accounts::Accounts accounts;
    http::CurlClient client;
    http::LineClient webhook_lines;
    http::OwnListeners own_listeners;  // of this process, once it listens
    agent_protocol::CommandKey command_key;
    machines::Commands commands;
    rentals::Rentals rentals;
    machines::HostAgents host_agents;
    gates::Gates gates;
    offers::Offers offers;
    machines::Qualifications qualifications;
    http::Reach endpoint_reach;  // of what hosts announce
    relay::Relay relay;
    std::unique_ptr<const ContractsOnChain> contract_wallets;  // null without a chain
    wallets::Wallets wallets;
    agent_accounts::Agents agents;
    transfers::PaymentsForFunding payments;
    funding::Funding funding;
    transfers::Transfers transfers;
    billing::BillingDesk billing;
    reports::Reports reports;
    credits::CreditDesk credits;
    std::vector<billing::OwnKey> own_keys;
    liabilities::Liabilities liabilities;
    crypto::SigningKey posting_key;  // of records that are written into the chain
    events::Registry event_kinds;
    delivery::Delivery delivery;
    tickets::Desk tickets;
    closing::Closing closing;
    recovery::Recoveries recoveries;
    guests::Guests guests;
    admin::Admin admin;
    four_eyes::FourEyes four_eyes;
    catalog::Catalog catalog;
    offers::Templates templates;
    hosts::Hosts hosts;
};

}  // namespace berth::server
