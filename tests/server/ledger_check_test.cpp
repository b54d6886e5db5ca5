// `berthd check ledger` as a nightly job runs it.
#include <gtest/gtest.h>

#include <fstream>

#include "crypto/hash.hpp"
#include "ledger/ledger.hpp"
#include "server/schema.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class LedgerCheckCommand : public ::testing::Test {
protected:
    LedgerCheckCommand() { db::migrate(*database, server::schema()); }

    // Money that is held and given back: the ledger's own business, of which nobody else has rows.
    void hold_and_release() {
        database->write([&](db::Transaction& tx) {
            const ledger::Context context{tx, random, clock.now()};
            const auto job = JobId::make(context.now, random);
            ledger::hold(context, {job,
                                   renter,
                                   renter,
                                   {renter.uuid},
                                   ledger::Asset::usdc,
                                   Micro{5},
                                   Micro{1},
                                   1000});
            ledger::release(context, job);
        });
    }

    auto check(std::vector<std::string> flags = {}) {
        std::vector<std::string> command{program_path("berthd"), "check", "ledger", "--db",
                                         place.url()};
        command.insert(command.end(), flags.begin(), flags.end());
        return run_program(command);
    }

    TestDatabase place;
    std::unique_ptr<db::Database> database = place.open();
    TemporaryFolder folder;
    ManualClock clock;
    SeededRandom random;
    AccountId renter = AccountId::make(clock.now(), random);
    const std::string file = folder.path() + "/verified";
};

TEST_F(LedgerCheckCommand, GoesOnFromWhatItVerifiedUnlessToldToBeginAnew) {
    const auto first = check({"--verified", file});
    EXPECT_EQ(first.status, 0) << first.output;
    EXPECT_NE(first.output.find(" 0 transactions (0 looked at)"), std::string::npos)
        << first.output;
    const auto mode = std::filesystem::status(file).permissions() & std::filesystem::perms::all;
    EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);

    database->write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO ledger_accounts (account_id, asset, available, held, payable, escrow, "
            "reserved, earned, fees, paid, sequence, head) "
            "VALUES ($1, 'USDC', 5, 0, 0, 0, 0, 0, 0, 0, 0, $2)",
            renter, db::Blob{std::string(32, '\0')});
    });
    const auto forged = check({"--verified", file});
    EXPECT_EQ(forged.status, 1) << forged.output;
    EXPECT_NE(forged.output.find("available is 5, its rows say 0"), std::string::npos);
    hold_and_release();
    database->write(
        [&](db::Transaction& tx) { tx.run("UPDATE ledger_accounts SET available = 0"); });
    const auto second = check({"--verified", file});
    EXPECT_EQ(second.status, 0) << second.output;
    EXPECT_NE(second.output.find(" 2 transactions (2 looked at)"), std::string::npos);
    const auto third = check({"--verified", file});
    EXPECT_NE(third.output.find(" 2 transactions (0 looked at)"), std::string::npos)
        << third.output;
    const auto full = check({"--verified", file, "--full", "--check-threads", "2"});
    EXPECT_NE(full.output.find(" 2 transactions (2 looked at)"), std::string::npos) << full.output;
}

TEST_F(LedgerCheckCommand, WhatAnEarlierReleaseRememberedIsBegunAnew) {
    const std::string body = "berth ledger verified 3\n1\nrows 0 0 0 0 0\n";
    std::ofstream(file) << body << "sha256 " << to_hex(crypto::sha256(body)) << "\n";
    const auto anew = check({"--verified", file});
    EXPECT_EQ(anew.status, 0) << anew.output;
    EXPECT_NE(anew.output.find("is of an earlier release"), std::string::npos) << anew.output;
    const auto next = check({"--verified", file});
    EXPECT_EQ(next.output.find("earlier release"), std::string::npos) << next.output;
    std::ofstream(file) << body << "sha256 " << to_hex(crypto::sha256(body + "x")) << "\n";
    EXPECT_EQ(check({"--verified", file}).status, 2) << "somebody edited that one";
}

TEST_F(LedgerCheckCommand, ARememberedProofThatSomebodyEditedIsRefused) {
    ASSERT_EQ(check({"--verified", file}).status, 0);
    std::ofstream(file, std::ios::app) << "more\n";
    const auto refused = check({"--verified", file});
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.output.find("--verified: "), std::string::npos) << refused.output;
    EXPECT_EQ(check({"--verified", file, "--full"}).status, 0);
    EXPECT_EQ(check({"--verified", file}).status, 0);
    EXPECT_EQ(check({"--verified", folder.path() + "/no/such/folder"}).status, 2);
}

}  // namespace
}  // namespace berth::test
