// The schema is always at a whole number, whoever migrates and whenever it dies.
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "db/migrate.hpp"
#include "support/database.hpp"

namespace berth::test {
namespace {

using db::Migration;
using db::Transaction;

constexpr Migration three[] = {
    {1, "first", "CREATE TABLE one (id @id PRIMARY KEY, note @text) @strict"},
    {2, "second", "CREATE TABLE two (number @int, data @bytes) @strict;"
                  "CREATE INDEX two_by_number ON two (number);"},
    {3, "third", "INSERT INTO two (number) VALUES (1)"},
};

TEST(DbMigrate, BringsAnEmptyDatabaseUpOnce) {
    const TestDatabase place;
    const auto database = place.open();
    EXPECT_EQ(db::schema_version(*database), 0);
    EXPECT_EQ(db::migrate(*database, std::span(three).first(1)), 1);
    EXPECT_EQ(db::schema_version(*database), 1);
    EXPECT_EQ(db::migrate(*database, three), 2);
    EXPECT_EQ(db::schema_version(*database), 3);
    EXPECT_EQ(db::migrate(*database, three), 0);
    const auto count = database->read([](Transaction& tx) {
        return tx.run("SELECT count(*) FROM two")[0].get<int>(0);
    });
    EXPECT_EQ(count, 1);
}

TEST(DbMigrate, RefusesASchemaNewerThanTheProgram) {
    const TestDatabase place;
    const auto database = place.open();
    db::migrate(*database, three);
    EXPECT_THROW(db::migrate(*database, std::span(three).first(2)), std::runtime_error);
    EXPECT_EQ(db::schema_version(*database), 3);
}

TEST(DbMigrate, LeavesNothingOfAMigrationThatFails) {
    const TestDatabase place;
    const auto database = place.open();
    constexpr Migration broken[] = {
        {1, "first", "CREATE TABLE one (number @int) @strict"},
        {2, "second", "CREATE TABLE two (number @int) @strict; INSERT INTO nowhere VALUES (1)"},
    };
    EXPECT_THROW(db::migrate(*database, broken), db::StatementError);
    EXPECT_EQ(db::schema_version(*database), 1);
    constexpr Migration mended[] = {
        broken[0], {2, "second", "CREATE TABLE two (number @int) @strict"}};
    EXPECT_EQ(db::migrate(*database, mended), 1);
}

TEST(DbMigrate, RunsEachMigrationOnceWhenManyRace) {
    constexpr int racers = 6;
    const TestDatabase place;
    const auto first = place.open();
    const bool sqlite = first->engine() == db::Engine::sqlite;
    std::atomic<int> ran = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i) {
        threads.emplace_back([&] {
            // SQLite has one process; on PostgreSQL each racer is as good as a process.
            const auto own = sqlite ? nullptr : place.open();
            ran += db::migrate(sqlite ? *first : *own, three);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(db::schema_version(*first), 3);
}

// A child migrates and dies by a timer, later each time, until it gets through.
TEST(DbMigrate, IsSafeToKillAtAnyPoint) {
    constexpr int count = 12;
    constexpr int attempts_max = 2000;
    const TestDatabase place;
    std::vector<std::string> texts;
    std::vector<Migration> migrations;
    for (int i = 1; i <= count; ++i)
        texts.push_back(fmt::format("CREATE TABLE t{} (number @int PRIMARY KEY) @strict;"
                                    "INSERT INTO t{} VALUES ({});", i, i, i));
    for (int i = 1; i <= count; ++i)
        migrations.push_back({i, "table", texts[static_cast<std::size_t>(i) - 1]});

    int killed = 0;
    for (int attempt = 1; attempt <= attempts_max; ++attempt) {
        const pid_t child = fork();
        if (child == 0) {
            const itimerval timer{{0, 0}, {attempt / 1000, attempt % 1000 * 1000}};
            const itimerval none{};
            setitimer(ITIMER_REAL, &timer, nullptr);
            const auto database = place.open();
            db::migrate(*database, migrations);
            setitimer(ITIMER_REAL, &none, nullptr);
            _exit(0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) break;
        ++killed;
    }
    EXPECT_GT(killed, 0);
    const auto database = place.open();
    EXPECT_EQ(db::migrate(*database, migrations), 0);
    EXPECT_EQ(db::schema_version(*database), count);
    for (int i = 1; i <= count; ++i) {
        const std::string sql = fmt::format("SELECT number FROM t{}", i);
        const db::Result rows = database->read([&](Transaction& tx) { return tx.run(sql); });
        ASSERT_EQ(rows.size(), 1u);
        EXPECT_EQ(rows[0].get<int>(0), i);
    }
}

TEST(DbMigrateDeathTest, EndsTheProcessOnAMistakeInTheList) {
    const std::vector<Migration> mistakes[] = {
        {{2, "does not start at one", "SELECT 1"}},
        {{1, "first", "SELECT 1"}, {3, "leaves a gap", "SELECT 1"}},
        {{1, "not strict", "CREATE TABLE t (number @int)"}},
        {{1, "unknown word", "CREATE TABLE t (number @integer) @strict"}},
    };
    for (const std::vector<Migration>& list : mistakes) {
        const TestDatabase place;
        EXPECT_DEATH({
            const auto database = place.open();
            db::migrate(*database, list);
        }, "") << list.back().name;
    }
}

}  // namespace
}  // namespace berth::test
