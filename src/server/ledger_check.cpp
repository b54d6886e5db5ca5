#include "server/ledger_check.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "funding/witness.hpp"
#include "ledger/check.hpp"
#include "transfers/witness.hpp"

namespace berth::server {
namespace {

namespace fs = std::filesystem;

std::optional<ledger::Verified> read_verified(const LedgerCheck& wanted) {
    if (wanted.full || wanted.verified_file.empty() || !fs::exists(wanted.verified_file))
        return std::nullopt;
    std::ostringstream text;
    text << std::ifstream(wanted.verified_file).rdbuf();
    auto verified = ledger::parse_verified(text.str());
    if (!verified)
        throw BadSettings("--verified: " + wanted.verified_file +
                          ": is not what this program wrote; look into it, then use --full");
    return verified;
}

// Whole or not at all, and for its owner alone.
void write_verified(const std::string& path, const ledger::Verified& verified) {
    const fs::path draft = path + ".draft";
    std::ofstream file(draft, std::ios::trunc);
    if (!file) throw BadSettings("--verified: " + path + ": cannot be written");
    fs::permissions(draft, fs::perms::owner_read | fs::perms::owner_write);
    file << ledger::write_verified(verified);
    file.close();
    if (!file) throw BadSettings("--verified: " + path + ": cannot be written");
    fs::rename(draft, path);
}

std::unique_ptr<db::Database> open_for_proof(const Settings& settings, int threads) {
    db::Options options;
    options.read_only = true;
    options.statement_max = std::chrono::hours(1);
    options.connections_max = static_cast<std::size_t>(threads) + 1;
    return db::open(*settings.db, options);
}

}  // namespace

ledger::Witnesses witnesses() {
    static const funding::DepositWitness deposits;
    static const transfers::TransferWitness outgoing;
    return {&deposits, &outgoing};
}

int check_ledger(const settings::Given& given, const LedgerCheck& wanted) {
    const Settings settings = start_settings(given);
    const auto verified = read_verified(wanted);
    const auto database = open_for_proof(settings, wanted.threads);
    ledger::CheckOptions options;
    options.verified = verified ? &*verified : nullptr;
    options.threads = database->engine() == db::Engine::postgres ? wanted.threads : 1;
    options.now = SystemClock().now();
    options.witnesses = witnesses();
    const ledger::Report report = ledger::check_ledger(*database, options);
    fmt::print("{}", ledger::to_text(report));
    if (report.sound() && !wanted.verified_file.empty())
        write_verified(wanted.verified_file, report.verified);
    return report.sound() ? 0 : 1;
}

}  // namespace berth::server
