#include "server/schema.hpp"

#include "api/idempotency.hpp"
#include "audit/audit.hpp"
#include "events/keeping.hpp"
#include "gates/operate.hpp"
#include "ledger/ledger.hpp"
#include "machines/machine.hpp"
#include "server/features.hpp"
#include "server/simulation.hpp"
#include "settings/changes.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {

std::vector<db::Migration> schema() {
    std::vector<db::Migration> all;
    for (const auto& history :
         {api::migrations,         worker::migrations,         mail::migrations,
          ledger::migrations,      audit::migrations,          settings::migrations,
          secrets_migrations,      simulation_migrations,      accounts::migrations,
          wallets::migrations,     agent_accounts::migrations, block_list::migrations,
          funding::migrations,     transfers::migrations,      billing::migrations,
          liabilities::migrations, tickets::migrations,        admin::migrations,
          treasury::migrations,    rentals::migrations,        relay::migrations,
          machines::migrations,    gates::migrations,          offers::migrations,
          catalog::migrations,     four_eyes::migrations,      closing::migrations,
          recovery::migrations,    credits::migrations,        events::migrations,
          delivery::migrations})
        all.insert(all.end(), history.begin(), history.end());
    return all;
}

std::vector<db::Watched> watched() {
    std::vector<db::Watched> all = accounts::watched_of_keys();
    for (const db::Watched& each : rentals::watched_of_serving_jobs()) all.push_back(each);
    return all;
}

}  // namespace berth::server
