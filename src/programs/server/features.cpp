#include "server/features.hpp"

#include "accounts/told.hpp"
#include "admin/leaving.hpp"
#include "admin/told.hpp"
#include "api/idempotency.hpp"
#include "audit/audit.hpp"
#include "base/check.hpp"
#include "block_list/block_list.hpp"
#include "block_list/settings.hpp"
#include "chain/settings.hpp"
#include "crypto/hash.hpp"
#include "delivery/census.hpp"
#include "delivery/settings.hpp"
#include "delivery/told.hpp"
#include "events/keeping.hpp"
#include "four_eyes/told.hpp"
#include "funding/told.hpp"
#include "funding/watcher.hpp"
#include "gates/census.hpp"
#include "gates/keeping.hpp"
#include "gates/operate.hpp"
#include "ledger/census.hpp"
#include "ledger/ledger.hpp"
#include "liabilities/census.hpp"
#include "liabilities/posts.hpp"
#include "liabilities/told.hpp"
#include "machines/census.hpp"
#include "machines/figures.hpp"
#include "machines/health_events.hpp"
#include "machines/settings.hpp"
#include "machines/told.hpp"
#include "mail/census.hpp"
#include "mail/settings.hpp"
#include "offers/told.hpp"
#include "recovery/leaving.hpp"
#include "rentals/census.hpp"
#include "rentals/figures.hpp"
#include "rentals/told.hpp"
#include "server/chain_setup.hpp"
#include "server/operations.hpp"
#include "server/told.hpp"
#include "settings/changes.hpp"
#include "tickets/told.hpp"
#include "transfers/census.hpp"
#include "transfers/evidence.hpp"
#include "transfers/settler.hpp"
#include "transfers/told.hpp"
#include "treasury/treasury.hpp"
#include "worker/census.hpp"

namespace berth::server {
namespace {

std::optional<crypto::SigningKey> signing_key(const std::optional<Bytes>& secret) {
    if (!secret) return std::nullopt;
    auto key = crypto::SigningKey::from_bytes(*secret);
    if (!key) throw BadSettings("--secrets: treasury.key: is no private key");
    return key;
}

std::optional<crypto::Secret> secret_of(const std::optional<Bytes>& bytes) {
    if (!bytes) return std::nullopt;
    return crypto::Secret(*bytes);
}

ledger::Treasury own_treasury(const chain::Settings& settings,
                              const std::optional<crypto::SigningKey>& key, bool has_chain) {
    if (*settings.treasury && key && **settings.treasury != key->address())
        throw BadSettings("--treasury: must be the address of treasury.key in --secrets");
    const auto address = key ? std::optional(key->address()) : *settings.treasury;
    return treasury_of(settings, address, address && has_chain);
}

// What stands above closing and has something of an account.
closing::Above above_closing() {
    return {.is_under_dispute = admin::has_open_dispute,
            .call_off =
                [](db::Context context, AccountId account) {
                    recovery::end_recoveries(context.tx, account, context.now);
                },
            .forget =
                [](db::Transaction& tx, AccountId account) {
                    admin::forget_notes(tx, account);
                    recovery::forget_account(tx, account);
                }};
}

// Each thing that is signed has a key of its own, which follows from one that is kept.
crypto::Ed25519Key liabilities_key(const Secrets& secrets) {
    return crypto::Ed25519Key(
        crypto::Secret(crypto::hmac_sha256(secrets.command, "berth liabilities signing key")));
}

crypto::SigningKey posting_key_of(const Secrets& secrets) {
    auto key = crypto::SigningKey::from_bytes(
        crypto::hmac_sha256(secrets.command, "berth liabilities posting key"));
    require(key.has_value(), "all but one in 2^127 of all 32-byte values are keys");
    return std::move(*key);
}

crypto::Ed25519Key receipts_key(const Secrets& secrets) {
    return crypto::Ed25519Key(
        crypto::Secret(crypto::hmac_sha256(secrets.command, "berth receipts signing key")));
}

std::vector<billing::OwnKey> keys_of(const Secrets& secrets) {
    using billing::KeyUse;
    const auto public_half = [](const Bytes& seed) {
        return crypto::Ed25519Key(crypto::Secret(seed)).public_key();
    };
    std::vector<billing::OwnKey> keys{{KeyUse::commands, public_half(secrets.command)},
                                      {KeyUse::receipts, receipts_key(secrets).public_key()},
                                      {KeyUse::liabilities, liabilities_key(secrets).public_key()}};
    if (secrets.command_next)
        keys.push_back({KeyUse::commands, public_half(*secrets.command_next)});
    return keys;
}

// Each feature of money answers for its own tables.
bool knows_transaction(db::Transaction& tx, AccountId account, const std::string& hash) {
    return funding::knows_claim(tx, account, hash) || transfers::knows_attempt(tx, account, hash);
}

machines::ProofRules proof_rules_of(const settings::Snapshot& start) {
    machines::ProofRules rules;
    rules.unproven_allowed =
        *start.get<machines::Settings>().allow_unproven_cards || *start.get<Settings>().simulated;
    return rules;
}

// A list that cannot be read is no empty list: the server does not start with it.
std::string block_list_of(const settings::Snapshot& start) {
    const std::string& path = *start.get<block_list::Settings>().blocked_addresses_file;
    if (path.empty()) return path;
    try {
        block_list::read_file(path);
    } catch (const std::invalid_argument& bad) {
        throw BadSettings("--blocked-addresses-file: " + path + ": " + bad.what());
    }
    return path;
}

// Of what is kept for as many days as operators say by now.
template <class Section>
auto kept_for(const settings::Live& live, settings::Whole Section::*days,
              std::int64_t (*prune)(db::Transaction& tx, Time before, std::int64_t rows)) {
    return [&live, days, prune](db::Transaction& tx, Time now, std::int64_t rows) {
        const std::int64_t count = *(live.now()->template get<Section>().*days);
        return prune(tx, now - std::chrono::hours(24 * count), rows);
    };
}

// Of what expired, some at a time.
auto expiring_credits(Random& random) {
    return [&random](db::Transaction& tx, Time now, std::int64_t rows) {
        return credits::expire_credits({tx, random, now}, rows);
    };
}

// Likewise of transfers that nobody confirmed.
auto expiring_confirmations(Random& random) {
    return [&random](db::Transaction& tx, Time now, std::int64_t rows) {
        return transfers::expire_confirmations({tx, random, now}, rows);
    };
}

http::Reach endpoint_reach_of(const settings::Snapshot& start) {
    return *start.get<Settings>().allow_private_endpoints ? http::Reach::anywhere
                                                          : http::Reach::public_only;
}

delivery::TargetRules webhook_rules_of(const settings::Snapshot& start, const accounts::Site& site,
                                       const http::OwnListeners& own_listeners) {
    const auto& settings = start.get<delivery::Settings>();
    std::vector<std::string> own_hosts = *settings.own_hosts;
    if (std::string host = delivery::own_host_of(site.base_url); !host.empty())
        own_hosts.push_back(std::move(host));
    return {.reach =
                *settings.allow_private_webhooks ? http::Reach::anywhere : http::Reach::public_only,
            .own_hosts = std::move(own_hosts),
            .find_own_hosts = gates::hosts_of_gates,
            .own_listeners = &own_listeners};
}

}  // namespace

std::vector<db::CensusQuestion> census_questions() {
    std::vector<db::CensusQuestion> all;
    const auto add = [&all](std::span<const db::CensusQuestion> some) {
        all.insert(all.end(), some.begin(), some.end());
    };
    add(rentals::census);
    add(machines::census);
    add(gates::census);
    add(worker::census);
    add(mail::census);
    add(transfers::census);
    add(ledger::census);
    add(liabilities::census);
    add(delivery::census);
    return all;
}

events::Registry event_registry() {
    events::Registry registry;
    registry.add(accounts::event_kinds());
    registry.add(funding::event_kinds());
    registry.add(transfers::event_kinds());
    registry.add(machines::event_kinds());
    registry.add(offers::event_kinds());
    registry.add(rentals::event_kinds());
    registry.add(liabilities::event_kinds());
    registry.add(tickets::event_kinds());
    registry.add(delivery::event_kinds());
    registry.add(four_eyes::event_kinds());
    registry.add(admin::event_kinds());
    registry.add(event_kinds());
    return registry;
}

Features::Features(const settings::Snapshot& start, const Secrets& secrets, chain::Chain* chain_,
                   const offers::LiveJobs* jobs,
                   const std::optional<machines::ProofRules>& proof_rules,
                   const rentals::EndpointProber* prober)
    : chain(chain_),
      chain_poll(std::chrono::milliseconds(*start.get<chain::Settings>().chain_poll_ms)),
      treasury_key(signing_key(secrets.treasury)),
      site(base_url_of(start.get<Settings>())),
      treasury(own_treasury(start.get<chain::Settings>(), treasury_key, chain != nullptr)),
      blocked_addresses_file(block_list_of(start)),
      countries(*start.get<Settings>().country_table),
      sealer(sealer_of(secrets)),
      outbox(sealer, *start.get<mail::Settings>().from),
      accounts(site, accounts::CodeKeys(secrets.code, secrets.other_codes), sealer, outbox),
      command_key(crypto::Ed25519Key(crypto::Secret(secrets.command))),
      commands(sealer, command_key),
      rentals({sealer, commands, accounts.integrations(), client, endpoint_reach_of(start),
               *start.get<Settings>().allow_plain_engines ? rentals::EngineTls::optional
                                                          : rentals::EngineTls::required,
               &own_listeners, prober}),
      host_agents({sealer, crypto::Secret(secrets.command), secret_of(secrets.command_next),
                   countries, rentals.host_agent_side(), site.base_url}),
      gates(
          {crypto::Secret(secrets.command), secret_of(secrets.command_next), rentals::find_placed}),
      offers(jobs ? *jobs : static_cast<const offers::LiveJobs&>(rentals)),
      qualifications(host_agents.commands(), endpoint_reach_of(start),
                     proof_rules.value_or(proof_rules_of(start)), &gates, &offers),
      endpoint_reach(endpoint_reach_of(start)),
      relay(sealer, endpoint_reach),
      contract_wallets(chain != nullptr ? std::make_unique<const ContractsOnChain>(*chain)
                                        : nullptr),
      wallets(site, accounts, contract_wallets.get()),
      agents(site, accounts),
      funding(treasury, chain, payments),
      transfers(site, treasury, accounts, outbox),
      billing(site, receipts_key(secrets)),
      own_keys(keys_of(secrets)),
      liabilities(treasury, chain, liabilities_key(secrets)),
      posting_key(posting_key_of(secrets)),
      event_kinds(event_registry()),
      delivery({event_kinds, sealer, webhook_lines, webhook_rules_of(start, site, own_listeners),
                *start.get<delivery::Settings>().webhook_ca_file, outbox, site}),
      tickets(site, outbox, knows_transaction),
      closing(outbox, above_closing()),
      recoveries(site, outbox),
      guests(site, outbox),
      admin(start, outbox, treasury, chain, watcher_vitals),
      catalog(start.get<machines::Settings>()),
      templates(rentals::usual_start),
      hosts(rentals) {}

void Features::add_routes(api::Router& router) {
    accounts.add_routes(router);
    wallets.add_routes(router);
    agents.add_routes(router);
    billing.add_routes(router);
    reports.add_routes(router);
    credits.add_routes(router);
    funding.add_routes(router);
    transfers.add_routes(router);
    liabilities.add_routes(router);
    delivery.add_routes(router);
    tickets.add_routes(router);
    closing.add_routes(router);
    recoveries.add_routes(router);
    guests.add_routes(router);
    admin.add_routes(router);
    four_eyes.add_routes(router);
    add_operations(four_eyes, treasury);
    offers.add_routes(router);
    host_agents.add_routes(router);
    qualifications.add_routes(router);
    gates.add_routes(router);
    rentals.add_routes(router);
    relay.add_routes(router);
    templates.add_routes(router);
    catalog.add_routes(router);
    hosts.add_routes(router);
}

api::Authenticators Features::authenticators() {
    return {.accounts = &accounts.credentials(),
            .machines = &host_agents.credentials(),
            .gates = &gates.credentials()};
}

void Features::add_chain_tasks(const TaskParts& parts, std::vector<worker::Kind>& kinds) const {
    const auto& [database, clock, random, transport, settings] = parts;
    kinds.push_back(liabilities::post_liabilities_kind(
        {*chain, wallets::base_chain_id, posting_key, database, clock}));
    kinds.push_back(funding::watch_chain_kind(
        funding::Watcher({treasury, payments, *chain, database, clock, random}, watcher_vitals),
        chain_poll));
    if (treasury_key)
        kinds.push_back(transfers::settle_transfers_kind(
            transfers::Settler({treasury, settings, *treasury_key, *chain, database, clock, random},
                               settler_vitals),
            chain_poll));
}

std::vector<worker::Kind> Features::tasks(const TaskParts& parts) const {
    const auto& [database, clock, random, transport, settings] = parts;
    const auto prune = [&parts](const std::string& name, auto prune_some) {
        return worker::prune_kind(name, parts.database,
                                  [&clock = parts.clock, prune_some](db::Transaction& tx) {
                                      return prune_some(tx, clock.now(), worker::prune_rows_max);
                                  });
    };
    std::vector<worker::Kind> kinds{
        mail::send_mail_kind(outbox, transport, database, clock),
        prune("prune_outbox", mail::prune_outbox),
        prune("prune_sessions", accounts::prune_sessions),
        prune("prune_email_codes", accounts::prune_codes),
        prune("prune_allowances", accounts::prune_allowances),
        prune("prune_totp_enrollments", accounts::prune_totp_enrollments),
        prune("prune_siwe_challenges", wallets::prune_challenges),
        prune("prune_funding_intents", funding::prune_intents),
        offers::expire_offers_kind(database, clock, random),
        prune("prune_enrollments", machines::prune_enrollments),
        prune("sweep_commands", machines::sweep_commands),
        prune("prune_machine_days", machines::prune_days),
        prune("prune_test_results",
              kept_for(parts.settings, &machines::Settings::test_results_kept_days,
                       machines::prune_runs)),
        prune("prune_machine_events",
              kept_for(parts.settings, &machines::Settings::machine_events_kept_days,
                       machines::prune_machine_events)),
        prune("prune_events",
              kept_for(parts.settings, &delivery::Settings::events_kept_days, events::prune)),
        prune("prune_webhook_deliveries",
              kept_for(parts.settings, &delivery::Settings::webhook_deliveries_kept_days,
                       delivery::prune_deliveries)),
        prune("prune_gate_doors", gates::prune_old_doors),
        machines::sample_uptime_kind(database, clock),
        rentals::count_figures_kind({database, clock, random}),
        prune("offer_server_key",
              [this, &random = parts.random](db::Transaction& tx, Time now, std::int64_t rows) {
                  return host_agents.commands().offer_next_key({tx, random, now}, rows);
              }),
        prune("prune_rental_days", rentals::prune_rental_days),
        prune("prune_quotes", rentals::prune_old_quotes),
        prune("prune_stray_jobs", rentals::prune_old_strays),
        prune("prune_evidence", rentals::prune_old_evidence),
        prune("expire_confirmations", expiring_confirmations(random)),
        delivery.mail_reader().mail_events_kind({database, clock, random}),
        prune("expire_credits", expiring_credits(random)),
        prune("prune_idempotency_keys", [](db::Transaction& tx, Time now, std::int64_t rows) {
            return api::prune_keys(tx, now - api::idempotency_kept, rows);
        })};
    if (!blocked_addresses_file.empty())
        kinds.push_back(block_list::read_block_list_kind(
            {blocked_addresses_file, database, clock, random, transfers::take_signing_turn}));
    kinds.push_back(closing.erase_accounts_kind({database, clock, random}));
    for (worker::Kind& kind :
         rentals::job_deadlines_kinds({rentals.lifecycle(), database, clock, random}))
        kinds.push_back(std::move(kind));
    for (worker::Kind& kind : liabilities.prove_kinds({database, clock, random}))
        kinds.push_back(std::move(kind));
    const machines::UpkeepParts upkeep{qualifications, database, clock, random};
    kinds.push_back(machines::upkeep_kind(upkeep));
    kinds.push_back(machines::dial_endpoint_kind(upkeep, endpoint_reach));
    kinds.push_back(machines::examine_proof_kind(upkeep));
    if (chain != nullptr) add_chain_tasks(parts, kinds);
    return kinds;
}

}  // namespace berth::server
