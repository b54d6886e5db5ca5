#include "server/features.hpp"

#include "api/idempotency.hpp"
#include "server/secrets.hpp"

namespace berth::server {
namespace {

api::RateRules rate_rules(const Settings& settings) {
    api::RateRules rules;
    rules.open.requests_max = settings.rate_public_per_minute;
    rules.account.requests_max = settings.rate_account_per_minute;
    rules.sign_in.requests_max = settings.rate_sign_in_per_hour;
    rules.challenge.requests_max = settings.rate_challenge_per_hour;
    return rules;
}

worker::Kind prune_idempotency_kind(const Clock& clock) {
    return {.name = "prune_idempotency_keys",
            .run =
                [&clock](worker::Attempt& attempt) {
                    attempt.finish([&](db::Transaction& tx) {
                        api::prune_keys(tx, clock.now() - api::idempotency_kept);
                    });
                },
            .every = std::chrono::minutes(10)};
}

}  // namespace

Secrets load_secrets(const std::string& folder, Random& random) {
    return {load_secret(folder, "cursor.key", random), load_secret(folder, "code.key", random),
            load_secret(folder, "seal.key", random)};
}

Features::Features(const Settings& settings, const Secrets& secrets)
    : rates(rate_rules(settings)),
      site(settings.base_url),
      sealer(crypto::Secret(secrets.seal)),
      outbox(sealer, settings.mail_from),
      accounts(site, secrets.code, sealer, outbox),
      wallets(site),
      agents(site) {}

std::vector<db::Migration> Features::schema() {
    return {api::idempotency_migration, worker::tasks_migration,    mail::outbox_migration,
            accounts::accounts_migration, wallets::wallets_migration, agents::agents_migration};
}

void Features::add_routes(api::Router& router) const {
    accounts.add_routes(router, rates);
    wallets.add_routes(router, rates);
    agents.add_routes(router, rates);
}

std::vector<worker::Kind> Features::tasks(db::Database& database, const Clock& clock,
                                          mail::Transport& transport) const {
    return {mail::send_mail_kind(outbox, transport, database, clock),
            mail::prune_outbox_kind(clock), accounts::prune_sessions_kind(clock),
            wallets::prune_challenges_kind(clock), prune_idempotency_kind(clock)};
}

}  // namespace berth::server
