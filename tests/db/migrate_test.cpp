// The schema is always between two migrations, whoever migrates and whenever it dies.
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
    {"first", 1, "CREATE TABLE one (id @id PRIMARY KEY, note @text) @strict"},
    {"second", 1,
     "CREATE TABLE two (number @int, data @bytes) @strict;"
     "CREATE INDEX two_by_number ON two (number);"},
    {"second", 2, "INSERT INTO two (number) VALUES (1)"},
};

int applied(db::Database& database, std::span<const Migration> migrations = three) {
    return db::schema_state(database, migrations).applied;
}

TEST(DbMigrate, BringsAnEmptyDatabaseUpOnce) {
    const TestDatabase place;
    const auto database = place.open();
    EXPECT_EQ(applied(*database), 0);
    EXPECT_EQ(db::migrate(*database, std::span(three).first(1)), 1);
    EXPECT_EQ(applied(*database), 1);
    EXPECT_EQ(db::migrate(*database, three), 2);
    EXPECT_EQ(applied(*database), 3);
    EXPECT_EQ(db::migrate(*database, three), 0);
    const auto count = database->read(
        [](Transaction& tx) { return tx.run("SELECT count(*) FROM two")[0].get<int>(0); });
    EXPECT_EQ(count, 1);
}

TEST(DbMigrate, RefusesASchemaNewerThanTheProgram) {
    const TestDatabase place;
    const auto database = place.open();
    db::migrate(*database, three);
    EXPECT_THROW(db::migrate(*database, std::span(three).first(2)), std::runtime_error);
    EXPECT_EQ(applied(*database), 3);
}

TEST(DbMigrate, AddsToOneFeatureWhatIsNewInIt) {
    const TestDatabase place;
    const auto database = place.open();
    db::migrate(*database, three);
    constexpr Migration more[] = {
        three[0], {"first", 2, "CREATE TABLE more (number @int) @strict"}, three[1], three[2]};
    EXPECT_EQ(db::schema_state(*database, more).missing, 1);
    EXPECT_EQ(db::migrate(*database, more), 1);
    EXPECT_EQ(db::schema_state(*database, three).unknown, 1);
    EXPECT_THROW(db::migrate(*database, three), std::runtime_error);
}

// The table as it was when all features counted together.
void write_former_table(db::Database& database, int last) {
    const bool sqlite = database.engine() == db::Engine::sqlite;
    std::string script = sqlite ? "CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, "
                                  "name TEXT NOT NULL) STRICT;"
                                : "CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, "
                                  "name TEXT NOT NULL);";
    for (int i = 1; i <= last; ++i)
        script += fmt::format("INSERT INTO schema_migrations VALUES ({}, 'any');", i);
    database.write([&](Transaction& tx) { tx.script(script); });
}

constexpr Migration renamed[] = {
    {"cats", 1, "CREATE TABLE cats (number @int) @strict", 1},
    {"cats", 2, "CREATE TABLE kittens (number @int) @strict", 2},
    {"dogs", 1, "CREATE TABLE dogs (number @int) @strict", 2},
    {"dogs", 2, "CREATE TABLE puppies (number @int) @strict"},
};

TEST(DbMigrate, TakesOverADatabaseOfTheTimeWhenAllFeaturesCountedTogether) {
    constexpr int missing[] = {4, 3, 1};
    for (int last = 0; last <= 2; ++last) {
        const TestDatabase place;
        const auto database = place.open();
        write_former_table(*database, last);
        EXPECT_EQ(db::schema_state(*database, renamed).missing, missing[last]);
        EXPECT_EQ(db::migrate(*database, renamed), missing[last]);
        EXPECT_EQ(applied(*database, renamed), 4);
        EXPECT_EQ(db::migrate(*database, renamed), 0);
    }
}

TEST(DbMigrate, RefusesAFormerDatabaseThatIsNewerThanTheProgram) {
    const TestDatabase place;
    const auto database = place.open();
    write_former_table(*database, 3);
    EXPECT_THROW(db::migrate(*database, renamed), std::runtime_error);
    EXPECT_EQ(db::schema_state(*database, renamed).unknown, 1) << "nothing was changed";
}

TEST(DbMigrate, TakesOverOnceWhenManyRace) {
    constexpr int racers = 6;
    const TestDatabase place;
    const auto first = place.open();
    const bool sqlite = first->engine() == db::Engine::sqlite;
    write_former_table(*first, 2);
    std::atomic<int> ran = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i) {
        threads.emplace_back([&] {
            const auto own = sqlite ? nullptr : place.open();
            ran += db::migrate(sqlite ? *first : *own, renamed);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(applied(*first, renamed), 4);
}

TEST(DbMigrate, LeavesNothingOfAMigrationThatFails) {
    const TestDatabase place;
    const auto database = place.open();
    constexpr Migration broken[] = {
        {"first", 1, "CREATE TABLE one (number @int) @strict"},
        {"first", 2, "CREATE TABLE two (number @int) @strict; INSERT INTO nowhere VALUES (1)"},
    };
    EXPECT_THROW(db::migrate(*database, broken), db::StatementError);
    EXPECT_EQ(applied(*database, broken), 1);
    constexpr Migration mended[] = {broken[0],
                                    {"first", 2, "CREATE TABLE two (number @int) @strict"}};
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
    EXPECT_EQ(applied(*first), 3);
}

// A child migrates and dies by a timer, later each time, until it gets through.
TEST(DbMigrate, IsSafeToKillAtAnyPoint) {
    constexpr int count = 12;
    constexpr int attempts_max = 2000;
    const TestDatabase place;
    std::vector<std::string> texts;
    std::vector<Migration> migrations;
    for (int i = 1; i <= count; ++i)
        texts.push_back(
            fmt::format("CREATE TABLE t{} (number @int PRIMARY KEY) @strict;"
                        "INSERT INTO t{} VALUES ({});",
                        i, i, i));
    for (int i = 1; i <= count; ++i)
        migrations.push_back({"tables", i, texts[static_cast<std::size_t>(i) - 1]});

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
    EXPECT_EQ(applied(*database, migrations), count);
    for (int i = 1; i <= count; ++i) {
        const std::string sql = fmt::format("SELECT number FROM t{}", i);
        const db::Result rows = database->read([&](Transaction& tx) { return tx.run(sql); });
        ASSERT_EQ(rows.size(), 1u);
        EXPECT_EQ(rows[0].get<int>(0), i);
    }
}

TEST(DbMigrateDeathTest, EndsTheProcessOnAMistakeInTheList) {
    const std::vector<Migration> mistakes[] = {
        {{"does not start at one", 2, "SELECT 1"}},
        {{"leaves a gap", 1, "SELECT 1"}, {"leaves a gap", 3, "SELECT 1"}},
        {{"counts with another", 1, "SELECT 1"}, {"and goes on", 2, "SELECT 1"}},
        {{"not strict", 1, "CREATE TABLE t (number @int)"}},
        {{"unknown word", 1, "CREATE TABLE t (number @integer) @strict"}},
    };
    for (const std::vector<Migration>& list : mistakes) {
        const TestDatabase place;
        EXPECT_DEATH(
            {
                const auto database = place.open();
                db::migrate(*database, list);
            },
            "")
            << list.back().feature;
    }
}

}  // namespace
}  // namespace berth::test
