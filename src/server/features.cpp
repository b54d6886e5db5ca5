#include "server/features.hpp"

#include "api/idempotency.hpp"
#include "ledger/ledger.hpp"
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
      accounts(site, secrets.code,
               {settings.rate_sign_in_codes_per_hour, settings.rate_codes_per_hour}, sealer, outbox),
      wallets(site),
      agents(site) {}

std::vector<db::Migration> Features::schema() {
    return {api::idempotency_migration, worker::tasks_migration,    mail::outbox_migration,
            accounts::accounts_migration, wallets::wallets_migration, agents::agents_migration,
            ledger::ledger_migration};
}

void Features::add_routes(api::Router& router) const {
    accounts.add_routes(router, rates);
    wallets.add_routes(router, rates);
    agents.add_routes(router, rates);
}

std::vector<worker::Kind> Features::tasks(db::Database& database, const Clock& clock,
                                          mail::Transport& transport) const {
    const auto prune = [&](const std::string& name, auto prune_some) {
        return worker::prune_kind(name, database, [&clock, prune_some](db::Transaction& tx) {
            return prune_some(tx, clock.now(), worker::prune_rows_max);
        });
    };
    return {mail::send_mail_kind(outbox, transport, database, clock),
            prune("prune_outbox", mail::prune_outbox),
            prune("prune_sessions", accounts::prune_sessions),
            prune("prune_email_codes", accounts::prune_codes),
            prune("prune_totp_enrollments", accounts::prune_totp_enrollments),
            prune("prune_siwe_challenges", wallets::prune_challenges),
            prune("prune_idempotency_keys", [](db::Transaction& tx, Time now, std::int64_t rows) {
                return api::prune_keys(tx, now - api::idempotency_kept, rows);
            })};
}

}  // namespace berth::server
