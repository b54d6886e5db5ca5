// What a proof costs that goes on from another follows what is new: it reads no table from one end
// to the other.
#include <gtest/gtest.h>

#include <sstream>

#include "ledger/check.hpp"
#include "server/ledger_check.hpp"
#include "server/schema.hpp"
#include "support/database.hpp"
#include "support/explained.hpp"

namespace berth::test {
namespace {

// Of these only what is open is read as a whole, by an index that has nothing else; and what a
// credit pays or has paid for.
constexpr std::array large{"ledger_transactions", "ledger_entries",    "ledger_jobs",
                           "ledger_transfers",    "ledger_disputes",   "ledger_days",
                           "transfers",           "transfer_attempts", "deposits",
                           "funding_intents",     "ledger_maturing"};
constexpr std::array of_open_ones{
    "ledger_jobs_open",   "ledger_transfers_open", "ledger_disputes_open",
    "transfers_open",     "transfers_back",        "transfers_in_flight",
    "deposits_unclaimed", "ledger_jobs_on_credit", "credits_by_end"};

bool reads_all(const std::string& line) {
    std::istringstream words(line);
    std::string verb, table;
    words >> verb >> table;
    if (verb != "SCAN") return false;
    const auto is_in_line = [&](const char* index) { return line.find(index) != line.npos; };
    if (std::ranges::any_of(of_open_ones, is_in_line)) return false;
    // One letter stands for a table that has another name in its statement; p is what operators
    // paid by hand.
    return (table.size() == 1 && table != "p") || std::ranges::find(large, table) != large.end();
}

std::vector<std::string> whole_reads(const ledger::CheckOptions& options) {
    const auto made = TestDatabase::sqlite();
    const auto database = made->open();
    db::migrate(*database, server::schema());
    std::vector<std::string> lines;
    database->read([&](db::Transaction& tx) {
        ExplainedTransaction explained(tx, db::Engine::sqlite);
        ledger::check_ledger(explained, options);
        std::istringstream plan(explained.plan);
        for (std::string line; std::getline(plan, line);)
            if (reads_all(line)) lines.push_back(line);
    });
    return lines;
}

TEST(SqliteOnlyNews, AreProvedWithoutReadingWhatIsOld) {
    const ledger::Verified verified;
    ledger::CheckOptions options;
    options.witnesses = server::witnesses();
    options.verified = &verified;
    EXPECT_FALSE(whole_reads(options).empty()) << "one that counts reads everything";
    options.counts = false;
    EXPECT_EQ(whole_reads(options), std::vector<std::string>{});
}

}  // namespace
}  // namespace berth::test
