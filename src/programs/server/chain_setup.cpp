#include "server/chain_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.hpp"
#include "chain/json_rpc.hpp"
#include "crypto/uri.hpp"
#include "db/backup.hpp"
#include "server/simulation.hpp"
#include "wallets/types.hpp"

namespace berth::server {
namespace {

constexpr std::size_t hosts_least = 2;

// Throws unless the check is passed over; then it is told in the log.
void complain(const chain::Settings& settings, const std::string& name, const std::string& what) {
    if (!chain::allows(settings, name))
        throw BadSettings(fmt::format("{} (--allow-unsafe {} passes this over)", what, name));
    log(Level::warn, "unsafe_setting_allowed", {{"check", name}, {"what", what}});
}

void check_providers(const chain::Settings& settings) {
    std::set<std::string> hosts, urls;
    for (const std::string& url : *settings.chain_rpc) {
        const std::string host = chain::provider_host(url);
        hosts.insert(host);
        if (!urls.insert(url).second)
            complain(settings, "same-provider",
                     fmt::format("--chain-rpc: {} is there twice", host));
        if (url.starts_with("http://") && !crypto::is_this_machine(host))
            complain(settings, "plain-http",
                     fmt::format("--chain-rpc: {} must be https: anybody on the way could answer",
                                 host));
    }
    if (hosts.size() < hosts_least)
        complain(settings, "few-providers",
                 "--chain-rpc: must name providers on two hosts at least: one alone is believed "
                 "whatever it says");
    if (*settings.token_usdc == *settings.token_usdt)
        complain(settings, "same-token", "--token-usdc and --token-usdt: must be two contracts");
    if (static_cast<std::size_t>(*settings.chain_quorum) > settings.chain_rpc->size())
        throw BadSettings("--chain-quorum: must not be more than there are providers");
}

}  // namespace

std::unique_ptr<chain::Chain> make_chain(http::Client& client, const chain::Settings& settings) {
    if (settings.chain_rpc->empty()) return nullptr;
    check_providers(settings);
    chain::JsonRpcChain::Options options;
    options.urls = *settings.chain_rpc;
    options.chain_id = wallets::base_chain_id;
    options.confirmations = *settings.chain_confirmations;
    options.quorum = static_cast<std::size_t>(*settings.chain_quorum);
    return std::make_unique<chain::JsonRpcChain>(client, options);
}

std::unique_ptr<chain::Chain> open_chain(http::Client& client, const settings::Snapshot& start,
                                         const Clock& clock, ChainUse use) {
    const auto& settings = start.get<Settings>();
    const auto& chain = start.get<chain::Settings>();
    if (!*settings.simulated) return make_chain(client, chain);
    simulated::SimulatedChain::Options options;
    options.file = simulated_files(settings).chain;
    options.chain_id = wallets::base_chain_id;
    options.tokens = {*chain.token_usdc, *chain.token_usdt};
    options.read_only = use == ChainUse::reads;
    return std::make_unique<simulated::SimulatedChain>(options, clock);
}

ledger::Treasury treasury_of(const chain::Settings& settings,
                             const std::optional<crypto::Address>& address, bool pays) {
    const std::vector<crypto::Address>& cold = *settings.cold_addresses;
    const std::optional<crypto::Address>& fee = *settings.fee_address;
    const auto is_cold = [&](const std::optional<crypto::Address>& one) {
        return one && std::ranges::find(cold, *one) != cold.end();
    };
    const std::vector<crypto::Address>& gas = *settings.gas_addresses;
    if (address && std::ranges::find(gas, *address) != gas.end())
        throw BadSettings("--gas-addresses: must not name the treasury");
    if (is_cold(address)) throw BadSettings("--cold-addresses: must not name the treasury");
    if (is_cold(fee) || (fee && fee == address))
        throw BadSettings("--fee-address: must be neither the treasury nor in cold storage");
    return {.address = address,
            .tokens = {*settings.token_usdc, *settings.token_usdt},
            .pays = pays,
            .cold = cold,
            .gas = gas,
            .fee = fee};
}

void require_tokens(const chain::Settings& settings, chain::Chain& chain,
                    const ledger::Treasury& treasury) {
    try {
        for (const ledger::Asset asset : ledger::assets) {
            const std::int64_t decimals = chain.decimals(treasury.token(asset));
            if (decimals != ledger::token_decimals)
                complain(settings, "decimals",
                         fmt::format("--token-{}: has {} decimals, not {}",
                                     asset == ledger::Asset::usdc ? "usdc" : "usdt", decimals,
                                     ledger::token_decimals));
        }
    } catch (const chain::ProviderError& error) {
        log(Level::warn, "tokens_not_checked", {{"why", error.what()}});
    }
}

void require_durable(const chain::Settings& settings, db::Database& database) {
    const auto off = db::undurable_settings(database);
    if (off.empty()) return;
    complain(settings, "undurable-db",
             fmt::format("--db: PostgreSQL may forget what it has committed, and a transfer would "
                         "be paid twice: turn on {}",
                         fmt::join(off, ", ")));
}

}  // namespace berth::server
