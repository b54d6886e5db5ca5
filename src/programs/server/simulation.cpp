#include "server/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/problem.hpp"
#include "crypto/hash.hpp"
#include "http/address.hpp"
#include "http/text.hpp"
#include "server/waiting.hpp"

namespace berth::server {
namespace {

constexpr Duration step_max = std::chrono::seconds(60);
constexpr std::chrono::seconds heartbeats_wait_max{60};

const db::Migration migration_list[] = {
    {"simulation", 1,
     "CREATE TABLE simulation_stamps ("
     "  stamp @int PRIMARY KEY CHECK (stamp = 1)"
     ") @strict;"},
};

constexpr std::string_view find_stamp_sql = "SELECT stamp FROM simulation_stamps";
constexpr std::string_view add_stamp_sql =
    "INSERT INTO simulation_stamps (stamp) VALUES (1) ON CONFLICT DO NOTHING";

bool is_stamped(db::Database& database) {
    return database.read([](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>(find_stamp_sql).has_value();
    });
}

bool is_sqlite(const Settings& settings) { return settings.db->starts_with(sqlite_scheme); }

// In whichever way the two came together; empty when they fit.
std::string misfit(const Settings& settings, const chain::Settings& chain) {
    if (!is_sqlite(settings)) return "--db: must be a SQLite file: it has play money in it";
    if (!chain.chain_rpc->empty())
        return "--chain-rpc: must not be given: play money and a real chain never meet";
    const auto& metrics = *settings.metrics_listen;
    if (!is_loopback(settings.listen->address) || (metrics && !is_loopback(metrics->address)))
        return "--listen and --metrics-listen: must be loopback addresses: play money is for this "
               "machine alone";
    return "";
}

[[noreturn]] void refuse_line(std::string_view why) {
    throw std::invalid_argument(std::string(why));
}

// The words of a line, each asked for once.
class AskedLine {
public:
    explicit AskedLine(const std::string& line) : in_(line) {}

    std::string next(std::string_view name) {
        std::string word;
        if (!(in_ >> word)) refuse_line(fmt::format("{}: is missing", name));
        return word;
    }
    crypto::Address address(std::string_view name) {
        const auto parsed = crypto::parse_address(next(name));
        if (!parsed) refuse_line(fmt::format("{}: must be 0x and 40 hex digits", name));
        return *parsed;
    }
    std::int64_t number(std::string_view name) {
        const auto parsed = parse_decimal(next(name));
        if (!parsed || *parsed < 1) refuse_line(fmt::format("{}: must be a whole number", name));
        return *parsed;
    }
    Micro amount() {
        const Micro micro{number("MICRO")};
        if (micro > ledger::amount_max) refuse_line("MICRO: is too much");
        return micro;
    }
    AccountId account() {
        const auto uuid = parse_uuid(next("ACCOUNT_ID"));
        if (!uuid) refuse_line("ACCOUNT_ID: must be the id of an account");
        return AccountId{*uuid};
    }
    ledger::Asset asset() {
        std::string word;
        if (!(in_ >> word)) return ledger::Asset::usdc;
        for (const ledger::Asset asset : ledger::assets)
            if (word == ledger::name(asset)) return asset;
        refuse_line("ASSET: must be USDC or USDT");
    }

private:
    std::istringstream in_;
};

std::string place_of(const simulated::TransactionRow& row) {
    return fmt::format("{} {}", chain::to_string(row.hash), row.log_index);
}

}  // namespace

const std::span<const db::Migration> simulation_migrations{migration_list};

bool is_loopback(std::string_view address) {
    return address.starts_with("127.") || address == "::1";
}

bool is_own_host(std::string_view host) {
    std::string_view name = host.substr(0, host.find(':'));
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        if (end == std::string_view::npos) return false;
        const std::string_view behind = host.substr(end + 1);
        if (!behind.empty() && !behind.starts_with(':')) return false;
        name = host.substr(1, end - 1);
    }
    if (http::equal_without_case(name, "localhost")) return true;
    const auto address = http::parse_address(name);
    return address && is_loopback(http::to_string(*address));
}

SimulatedFiles simulated_files(const Settings& settings) {
    const auto folder =
        std::filesystem::path(settings.db->substr(sqlite_scheme.size())).parent_path();
    return {(folder / "simulated-chain.db").string(), (folder / "simulated-clock").string(),
            (folder / "simulated.sock").string()};
}

void check_simulated(const Settings& settings, const chain::Settings& chain) {
    if (!*settings.simulated) return;
    if (const std::string why = misfit(settings, chain); !why.empty())
        throw BadSettings("--simulated: " + why);
}

std::unique_ptr<Clock> make_clock(const Settings& settings) {
    if (!*settings.simulated) return std::make_unique<SystemClock>();
    return std::make_unique<SharedClock>(simulated_files(settings).clock, SharedClock::Use::move);
}

Secrets load_all_secrets(const Settings& settings, Random& random) {
    Secrets secrets = load_secrets(*settings.secrets, random);
    if (!*settings.simulated) return secrets;
    if (secrets.treasury)
        throw BadSettings(
            "--simulated: --secrets: has a treasury.key, and what that signs here "
            "would be good on the real chain");
    secrets.treasury = crypto::hmac_sha256(secrets.command, "berth simulated treasury key");
    return secrets;
}

void require_stamp_fits(db::Database& database, const settings::Snapshot& start) {
    const auto& settings = start.get<Settings>();
    if (!is_stamped(database)) {
        if (*settings.simulated)
            throw BadSettings(
                "--simulated: --db: was not made as a simulated database; name a "
                "file that does not exist yet");
        return;
    }
    if (const std::string why = misfit(settings, start.get<chain::Settings>()); !why.empty())
        throw BadSettings("this database is stamped simulated: " + why);
    if (!*settings.simulated)
        throw BadSettings("this database is stamped simulated: --simulated: must be given");
}

void stamp_or_refuse(db::Database& database, const settings::Snapshot& start) {
    if (*start.get<Settings>().simulated && !was_ever_served(database))
        database.write([](db::Transaction& tx) { tx.run(add_stamp_sql); });
    require_stamp_fits(database, start);
}

Simulation::Simulation(const Parts& parts)
    : parts_(parts),
      clock_(simulated_files(parts.settings).clock, SharedClock::Use::move),
      door_(simulated_files(parts.settings).socket,
            [this](const std::string& line) { return answer(line); }) {}

std::string Simulation::answer(const std::string& line) {
    AskedLine words(line);
    const std::string verb = words.next("VERB");
    if (verb == "clock")
        return std::to_string(std::chrono::floor<std::chrono::seconds>(clock_.offset()).count());
    if (verb == "advance") return advance(std::chrono::seconds(words.number("SECONDS")));
    if (verb == "mint") {
        const crypto::Address to = words.address("ADDRESS");
        const Micro amount = words.amount();
        return place_of(parts_.chain.mint(parts_.treasury.token(words.asset()), to, amount));
    }
    if (verb == "transfer") {
        const crypto::Address from = words.address("FROM");
        const crypto::Address to = words.address("TO");
        const Micro amount = words.amount();
        const crypto::Address token = parts_.treasury.token(words.asset());
        return place_of(parts_.chain.transfer_as({token, from, to, amount}));
    }
    if (verb == "faucet") {
        const AccountId account = words.account();
        const Micro amount = words.amount();
        return fund(account, words.asset(), amount);
    }
    refuse_line("VERB: must be clock, advance, mint, transfer or faucet");
}

// Machines that were heard lately must be heard again: a longer silence would mean that their hosts
// are lost, and signatures are good for no longer than a step.
std::string Simulation::advance(Duration span) {
    if (span > step_max) refuse_line("SECONDS: must be at most 60");
    const Time heard_after = clock_.now() - machines::heartbeat_fresh;
    clock_.advance(span);
    const Time mark = clock_.now();
    const bool all_heard = wait_until(heartbeats_wait_max, [&] {
        parts_.host_agents.turn(clock_.now());
        return parts_.database.read(
            [&](db::Transaction& tx) { return machines::count_heard(tx, heard_after, mark) == 0; });
    });
    if (!all_heard) refuse_line("a machine did not send a heartbeat after the clock was moved");
    return std::to_string(std::chrono::floor<std::chrono::seconds>(clock_.offset()).count());
}

std::string Simulation::fund(AccountId account, ledger::Asset asset, Micro amount) {
    const bool known = parts_.database.read(
        [&](db::Transaction& tx) { return accounts::find_account(tx, account).has_value(); });
    if (!known) refuse_line("ACCOUNT_ID: there is no such account");
    const funding::DepositMark deposit = parts_.faucet.pour(asset, amount);
    parts_.database.write([&](db::Transaction& tx) {
        Faucet::match({tx, parts_.random, clock_.now()}, deposit, account);
    });
    return fmt::format("{} has {} micro-{} more", to_string(account), amount.value,
                       ledger::name(asset));
}

}  // namespace berth::server
