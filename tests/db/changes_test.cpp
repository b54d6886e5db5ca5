// What is counted as a change of watched columns, and when.
#include <gtest/gtest.h>

#include <thread>

#include "db/tables.hpp"

namespace berth::test {
namespace {

using db::Transaction;
using std::chrono::milliseconds;

constexpr std::string_view label_alone[] = {"label"};
const db::Options watching{.watched = {{"things", label_alone}}};

bool concern(std::string_view sql) { return db::Changes({{"things", label_alone}}).concern(sql); }

TEST(DbChanges, AreJudgedByTheTextOfAStatement) {
    for (const std::string_view sql :
         {"UPDATE things SET label = $1", "UPDATE things SET amount = 1 WHERE label = $1",
          "INSERT INTO things (number,label) VALUES ($1, $2)", "DELETE FROM things",
          "WITH gone AS (DELETE FROM things) SELECT 1", "update things set amount = 1",
          "ALTER TABLE things ADD COLUMN more @int", "UPDATE public.things SET label = $1",
          "UPDATE ONLY things SET label = $1", "UPDATE OR IGNORE things SET label = $1",
          "DELETE FROM Things", " SELECT 1"})
        EXPECT_TRUE(concern(sql)) << sql;
    for (const std::string_view sql :
         {"SELECT label FROM things", "UPDATE things SET amount = 1 WHERE number = $1",
          "UPDATE things SET amount = 1 RETURNING label",
          "UPDATE things SET labels = 1, old_label = 2", "UPDATE other_things SET label = $1",
          "INSERT INTO counters (number, label) VALUES (1, 2)", "DELETE FROM counters"})
        EXPECT_FALSE(concern(sql)) << sql;
    EXPECT_FALSE(db::Changes({}).concern("UPDATE things SET label = $1"));
}

TEST(DbChanges, AreCountedWhenTheyAreCommitted) {
    Tables database(watching);
    const auto counts = [&](const auto& work) {
        const std::uint64_t before = database->changes();
        database->write(work);
        return database->changes() != before;
    };
    EXPECT_TRUE(counts([](Transaction& tx) { tx.run("UPDATE things SET label = 'x'"); }));
    EXPECT_TRUE(counts([](Transaction& tx) { tx.start("UPDATE things SET label = 'x'"); }));
    EXPECT_TRUE(counts([](Transaction& tx) {
        tx.run("UPDATE things SET label = 'x'");
        tx.run(insert_counter, 1, 1);
    }));
    EXPECT_TRUE(counts([](Transaction& tx) { tx.script("CREATE TABLE more (number INTEGER)"); }));
    EXPECT_FALSE(counts([](Transaction& tx) { tx.run("UPDATE things SET amount = 1"); }));
    EXPECT_FALSE(counts([](Transaction& tx) { tx.run(insert_counter, 2, 1); }));
}

TEST(DbChanges, AreSeenByReadsAsOfTheirBegin) {
    Tables database(watching);
    database->read([&](Transaction& tx) {
        const std::uint64_t before = database->changes();
        EXPECT_EQ(tx.changes(), before);
        tx.run(count_counters);
        std::thread([&] {
            database->write([](Transaction& other) { other.run("UPDATE things SET label = 'x'"); });
        }).join();
        EXPECT_NE(database->changes(), before);
        EXPECT_EQ(tx.changes(), before);
    });
}

TEST(DbChanges, AreNotKnownInAWriteOrWithoutAWatch) {
    Tables database(watching);
    database->write([](Transaction& tx) { EXPECT_EQ(tx.changes(), 0U); });
    Tables unwatched;
    EXPECT_EQ(unwatched->changes(), 0U);
    unwatched->read([](Transaction& tx) { EXPECT_EQ(tx.changes(), 0U); });
}

TEST(DbChanges, EndAReadingAndSoDoesTime) {
    const Time at{1'000'000};
    const db::Reading reading{7, at};
    EXPECT_TRUE(reading.is_good(7, at));
    EXPECT_TRUE(reading.is_good(7, at + milliseconds(499)));
    EXPECT_FALSE(reading.is_good(7, at + milliseconds(500)));
    EXPECT_FALSE(reading.is_good(7, at - milliseconds(1)));
    EXPECT_FALSE(reading.is_good(8, at));
    EXPECT_FALSE((db::Reading{0, at}.is_good(0, at)));
}

}  // namespace
}  // namespace berth::test
