#include "server/ledger_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "credits/credits.hpp"
#include "funding/witness.hpp"
#include "ledger/check.hpp"
#include "server/app.hpp"
#include "server/chain_setup.hpp"
#include "server/simulation.hpp"
#include "transfers/witness.hpp"
#include "treasury/holdings.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {
namespace {

namespace fs = std::filesystem;
using ledger::Pocket;

std::optional<ledger::Verified> read_verified(const LedgerCheck& wanted) {
    if (wanted.full || wanted.verified_file.empty() || !fs::exists(wanted.verified_file))
        return std::nullopt;
    std::ostringstream text;
    text << std::ifstream(wanted.verified_file).rdbuf();
    auto verified = ledger::parse_verified(text.str());
    if (!verified && ledger::is_of_earlier_release(text.str())) {
        fmt::print("{}: is of an earlier release; everything is looked at anew\n",
                   wanted.verified_file);
        return std::nullopt;
    }
    if (!verified)
        throw BadSettings("--verified: " + wanted.verified_file +
                          ": is not what this program wrote; look into it, then use --full");
    return verified;
}

std::unique_ptr<db::Database> open_for_proof(const Settings& settings, int threads) {
    db::Options options;
    options.read_only = true;
    options.statement_max = std::chrono::hours(1);
    options.connections_max = static_cast<std::size_t>(threads) + 1;
    return db::open(*settings.db, options);
}

void check_chain(const settings::Given& given, db::Database& database, const Clock& clock,
                 ledger::Report& report) {
    const auto start = registry().snapshot(given);
    require_stamp_fits(database, *start);
    http::CurlClient client;
    const auto chain = open_chain(client, *start, clock, ChainUse::reads);
    if (!chain) throw BadSettings("--chain: needs --chain-rpc");
    const auto& named = start->get<chain::Settings>();
    check_holdings(database, treasury_of(named, *named.treasury, false), *chain, report);
}

// What customers owe: a refund of what a host was paid out already. It covers nobody's balance.
Micro debts_of(const ledger::Verified& verified, ledger::Asset asset) {
    Micro debts;
    for (const auto& [key, account] : verified.accounts)
        if (key.asset == asset)
            debts += std::max(Micro{}, -(account.balances.payable + account.balances.escrow));
    return debts;
}

}  // namespace

void replace_file(const std::string& path, const std::string& text) {
    const fs::path draft = path + ".draft";
    std::ofstream file(draft, std::ios::trunc);
    if (!file) throw BadSettings("--verified: " + path + ": cannot be written");
    fs::permissions(draft, fs::perms::owner_read | fs::perms::owner_write);
    file << text;
    file.close();
    if (!file) throw BadSettings("--verified: " + path + ": cannot be written");
    fs::rename(draft, path);
}

void check_holdings(db::Database& database, const ledger::Treasury& ours, chain::Chain& chain,
                    ledger::Report& report) {
    const auto watched = database.read(funding::list_watched);
    const std::int64_t block = chain.finalized_block();
    const ledger::Totals& totals = report.verified.totals;
    for (const ledger::Asset asset : ledger::assets) {
        const auto [held, cold] = treasury::find_holdings(chain, ours, watched, asset, block);
        const auto balance = [&](Pocket pocket) { return totals.balance(asset, pocket); };
        const Micro booked = -balance(Pocket::treasury) - balance(Pocket::outbound);
        const Micro leaving =
            balance(Pocket::reserved) + report.leaving_suspense[static_cast<std::size_t>(asset)];
        const Micro cold_booked = -balance(Pocket::cold);
        const Micro returning = database.read(
            [&](db::Transaction& tx) { return treasury::find_returning(tx, ours, asset); });
        Micro owed = balance(Pocket::suspense) - returning + debts_of(report.verified, asset);
        for (int i = 0; i < ledger::customer_pocket_count; ++i)
            owed += balance(static_cast<Pocket>(i));
        // What left and is not booked yet is owed no more.
        const Micro left = std::clamp(booked - held, Micro{}, std::max(leaving, Micro{}));
        report.expect(held + leaving >= booked,
                      fmt::format("{}: the treasury holds {} at block {}, the books say {}, and "
                                  "only {} can be on its way out",
                                  name(asset), held.value, block, booked.value, leaving.value));
        report.expect(cold + returning >= cold_booked,
                      fmt::format("{}: cold_addresses hold {} at block {}, and the books say {}",
                                  name(asset), cold.value, block, cold_booked.value));
        report.expect(held + cold >= owed - left,
                      fmt::format("{}: {} is owed, and there is {}", name(asset),
                                  (owed - left).value, (held + cold).value));
        report.notes.push_back(fmt::format(
            "{} at block {}: the treasury holds {}, the books say {} (difference {}, on its way "
            "out {}); in cold storage {}, the books say {}; owed to customers and in suspense {}: "
            "{}",
            name(asset), block, held.value, booked.value, (held - booked).value, leaving.value,
            cold.value, cold_booked.value, owed.value,
            held + cold >= owed - left ? "covered" : "NOT COVERED"));
    }
}

ledger::Witnesses witnesses() {
    static const funding::DepositWitness deposits;
    static const transfers::TransferWitness outgoing;
    static const treasury::PaymentWitness payments;
    static const credits::CreditWitness promotional;
    return {&deposits, &outgoing, &payments, &promotional};
}

int check_ledger(const settings::Given& given, const LedgerCheck& wanted) {
    const Settings settings = start_settings(given);
    const auto verified = read_verified(wanted);
    const auto database = open_for_proof(settings, wanted.threads);
    ledger::CheckOptions options;
    options.verified = verified ? &*verified : nullptr;
    options.counts = wanted.count;
    options.threads = database->engine() == db::Engine::postgres ? wanted.threads : 1;
    const auto clock = make_clock(settings);
    options.now = clock->now();
    options.witnesses = witnesses();
    ledger::Report report = ledger::check_ledger(*database, options);
    if (wanted.chain) check_chain(given, *database, *clock, report);
    fmt::print("{}", ledger::to_text(report));
    if (report.sound() && !wanted.verified_file.empty())
        replace_file(wanted.verified_file, ledger::write_verified(report.verified));
    return report.sound() ? 0 : 1;
}

}  // namespace berth::server
