// What a restore undoes: a copy from before knows nothing of what operators and people did since.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "admin/office.hpp"
#include "audit/audit.hpp"
#include "base/log.hpp"
#include "server/chain_commands.hpp"
#include "server/restored.hpp"
#include "server/schema.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

struct OfficeFile {
    std::unique_ptr<TestDatabase> file = TestDatabase::sqlite();
};

struct SqliteOnlyRestored : OfficeFile, Office {
    SqliteOnlyRestored() : Office({.db = file->url()}) {}
    ~SqliteOnlyRestored() override { town.harness.app.reset(); }  // before its database goes

    std::string copy() { return town.harness.folder.path() + "/copy"; }
    void suspend_ada() {
        ASSERT_EQ(act(root, id_of(ada), R"("action":"set_suspension","suspended":true)").status,
                  200);
    }
    std::string restore(const server::RestoreOptions& options) {
        town.harness.app.reset();
        ::testing::internal::CaptureStdout();
        EXPECT_EQ(server::restore(town.harness.given, options), 0);
        return ::testing::internal::GetCapturedStdout();
    }
    template <class Value>
    Value read(std::string_view sql) {
        return db::open(file->url())->read([&](db::Transaction& tx) {
            return tx.fetch_value<Value>(sql).value();
        });
    }
};

TEST_F(SqliteOnlyRestored, BeginsWithNothingLeavingAndNobodySignedIn) {
    ASSERT_EQ(server::back_up(town.harness.given, copy()), 0);
    ASSERT_GT(town.harness.app->database().read([](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM sessions").value();
    }),
              0);
    restore({.file = copy(), .replace = true});
    EXPECT_EQ(read<std::int64_t>("SELECT COUNT(*) FROM sessions"), 0);
    EXPECT_EQ(read<std::string>("SELECT value FROM settings WHERE key = 'money.payouts_paused'"),
              "true");
    EXPECT_GT(read<std::int64_t>("SELECT COUNT(*) FROM settlement_holds"), 0);
}

TEST_F(SqliteOnlyRestored, LeavesNothingBehindWhenItIsRefused) {
    ASSERT_EQ(server::back_up(town.harness.given, copy()), 0);
    town.harness.app.reset();
    const std::string path = file->url().substr(std::string_view("sqlite:").size());
    const auto beside = [&] {
        std::set<std::string> names;
        for (const auto& each :
             std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
            if (each.path().string().starts_with(path)) names.insert(each.path().string());
        return names;
    };
    const auto before = beside();
    EXPECT_ANY_THROW(
        server::restore(town.harness.given,
                        {.file = copy(), .replace = true, .log_file = copy() + ".is-not-there"}));
    EXPECT_EQ(beside(), before);
    restore({.file = copy(), .replace = true});
    for (const std::string& name : beside())
        EXPECT_EQ(name.find(".restoring"), std::string::npos) << name;
}

TEST_F(SqliteOnlyRestored, PutsNothingBesideTheCopyWhateverItIsCalled) {
    const std::string folder = town.harness.folder.path() + "/copies";
    std::filesystem::create_directory(folder);
    const std::string odd = folder + "/50% of #1?mode=memory";
    ASSERT_EQ(server::back_up(town.harness.given, odd), 0);
    const std::string before = read_text(odd);
    restore({.file = odd, .replace = true});
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    EXPECT_EQ(read_text(odd), before);
    EXPECT_GT(read<std::int64_t>("SELECT COUNT(*) FROM accounts"), 0);
}

TEST_F(SqliteOnlyRestored, TellsWhatWasDoneSinceFromTheDatabaseThatWasReplaced) {
    const std::string id = id_of(ada);
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":true)").status, 200);
    ASSERT_EQ(server::back_up(town.harness.given, copy()), 0);
    suspend_ada();
    const std::string told = restore({.file = copy(), .replace = true});
    EXPECT_NE(told.find("set_suspension account " + id + " suspended=true"), std::string::npos)
        << told;
    EXPECT_EQ(told.find("set_host_capability"), std::string::npos) << "the copy knows of it";
    EXPECT_EQ(read<std::int64_t>("SELECT COUNT(*) FROM accounts WHERE suspended = 1"), 0)
        << "which is why it is told";
}

TEST_F(SqliteOnlyRestored, TellsWhatWasDoneSinceFromTheLogWhereTheDatabaseIsGone) {
    const std::string id = id_of(ada);
    ASSERT_EQ(server::back_up(town.harness.given, copy()), 0);
    const std::string log_file = town.harness.folder.path() + "/log";
    const int descriptor = ::open(log_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ASSERT_GE(descriptor, 0);
    set_log(Level::info, descriptor);
    suspend_ada();
    set_log(Level::info);
    ::close(descriptor);
    town.harness.app.reset();
    for (const char* part : {"", "-wal", "-shm"})
        std::filesystem::remove(file->url().substr(7) + part);
    const std::string told = restore({.file = copy(), .log_file = log_file});
    EXPECT_NE(told.find("set_suspension account " + id + " suspended=true"), std::string::npos)
        << told;
}

TEST_F(SqliteOnlyRestored, SaysByASignedRecordHowMuchIsMissing) {
    const auto known = town.harness.app->database().read([](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>("SELECT sequence FROM audit_chain").value();
    });
    ASSERT_EQ(server::back_up(town.harness.given, copy()), 0);
    suspend_ada();
    town.harness.clock.advance(std::chrono::hours(1));
    town.run_tasks();
    const std::string record = town.harness.ask({.target = "/api/v1/proof-of-liabilities"}).body;
    const std::int64_t audited = std::stoll(member(record, "items.0.audit_events"));
    ASSERT_GT(audited, known);
    const std::string record_file = town.harness.folder.path() + "/record";
    std::ofstream(record_file) << record;
    const std::string told = restore({.file = copy(), .replace = true, .record_file = record_file});
    EXPECT_NE(told.find("by that record " + std::to_string(audited - known) + " events"),
              std::string::npos)
        << told;
    std::ofstream(record_file) << R"({"items":[]})";
    const auto database = db::open(file->url());
    EXPECT_THROW(server::count_missing(*database, record_file), Problem) << "that is no record";
}

TEST_F(SqliteOnlyRestored, WhatWasOnlyRehearsedIsInNoLog) {
    Browser hal = town.person("hal@example.org");
    const JobId over = job(account(ada), account(hal), 1000);
    const std::string log_file = town.harness.folder.path() + "/log";
    const int descriptor = ::open(log_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ASSERT_GE(descriptor, 0);
    set_log(Level::info, descriptor);
    const std::string wish = R"({"job_id":")" + to_string(over) +
                             R"(","amount_micro":"500","reason":"it did not run","evidence":[]})";
    EXPECT_EQ(root.send("POST", "/api/v1/admin/refunds/preview", wish).status, 200);
    EXPECT_EQ(root.send("POST", "/api/v1/admin/disputes/preview", wish).status, 200);
    set_log(Level::info);
    ::close(descriptor);
    EXPECT_TRUE(server::lost_by_log(town.harness.app->database(), log_file).empty());
}

// A write that was given up has its line in the log, and another one has its number.
TEST_F(SqliteOnlyRestored, OfOneNumberInTheLogTheLastOneHappenedAndOfTheVeryLastNobodyKnows) {
    const std::string log_file = town.harness.folder.path() + "/log";
    const auto line = [](int sequence, const std::string& action, const std::string& changes) {
        return R"({"at":"2026-11-16T00:00:00Z","event":"audited","sequence":)" +
               std::to_string(sequence) + R"(,"actor":"someone","action":")" + action +
               R"(","target":"job 7","changes":")" + changes + "\"}\n";
    };
    std::ofstream(log_file) << line(9001, "refund", " refund_id=1")
                            << line(9001, "read_entries", "")
                            << line(9002, "refund", R"( evidence=x\n  set_role account 9\u001b[2K)")
                            << line(9003, "close_dispute", "");
    const auto lost = server::lost_by_log(town.harness.app->database(), log_file);
    ASSERT_EQ(lost.size(), 2u);
    EXPECT_EQ(lost[0].sequence, 9002);
    EXPECT_EQ(lost[0].line.find_first_of("\n\x1b"), std::string::npos) << "one line is one act";
    EXPECT_NE(lost[0].line.find("\\x0a  set_role"), std::string::npos) << lost[0].line;
    EXPECT_EQ(lost[0].line.find("perhaps"), std::string::npos);
    EXPECT_NE(lost[1].line.find("perhaps it was not carried out"), std::string::npos);
}

TEST_F(SqliteOnlyRestored, DoesNotTakeAnotherMarketForItsOwnPast) {
    ASSERT_EQ(server::back_up(town.harness.given, copy()), 0);
    suspend_ada();
    town.harness.app.reset();
    const auto other = TestDatabase::sqlite();
    const auto theirs = db::open(other->url());
    db::migrate(*theirs, server::schema());
    const auto ours = db::open(file->url());
    theirs->write([&](db::Transaction& tx) {
        audit::record(
            {tx, town.harness.random, town.harness.clock.now()},
            {.actor = audit::Actor::system(), .action = "exist", .target = {"market", "another"}});
    });
    EXPECT_THROW(server::lost_since(*theirs, *ours), std::runtime_error);
}

}  // namespace
}  // namespace berth::test
