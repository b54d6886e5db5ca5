// What a closure may rely on, on both engines.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "db/tables.hpp"

namespace berth::test {
namespace {

using db::Transaction;

struct Thrown : std::exception {};

TEST(DbTransaction, ReturnsWhatTheClosureReturns) {
    Tables database;
    database.add_counter(1, 5);
    const std::string text = database->write(
        [](Transaction& tx) { return std::to_string(tx.run(select_counter, 1)[0].get<int>(0)); });
    EXPECT_EQ(text, "5");
}

TEST(DbTransaction, IsUndoneByAnException) {
    Tables database;
    EXPECT_THROW(database->write([](Transaction& tx) {
        tx.run(insert_counter, 1, 1);
        tx.start(insert_counter, 2, 2);
        throw Thrown();
    }),
                 Thrown);
    EXPECT_EQ(database.counters(), 0);
    database.add_counter(1, 1);  // and the database goes on
    EXPECT_EQ(database.counters(), 1);
}

// Adds up what it was given and writes it once.
class Sum final : public db::Batch {
public:
    int value = 0;
    void write(Transaction& tx) override {
        tx.start(insert_counter, 100, value);
        tx.wake_after_commit({"sums", std::to_string(value)});
    }
};

TEST(DbTransaction, WritesWhatItGatheredLastAndWakesAfterTheCommit) {
    Tables database;
    std::vector<std::string> woken;
    const auto listening =
        database->wakes().listen([&](const WakeKey& key) { woken.push_back(key.name); });
    database->write([](Transaction& tx) {
        tx.before_commit<Sum>().value += 2;
        tx.rehearse([&] { return tx.before_commit<Sum>().value += 40; });
        tx.before_commit<Sum>().value += 3;
        EXPECT_TRUE(tx.run(select_counter, 100).empty()) << "not before the end";
    });
    EXPECT_EQ(database.counter(100), 5);
    EXPECT_EQ(woken, std::vector<std::string>{"5"});
    EXPECT_THROW(database->write([](Transaction& tx) {
        tx.before_commit<Sum>().value = 9;
        tx.wake_after_commit({"sums", "lost"});
        throw Thrown();
    }),
                 Thrown);
    EXPECT_EQ(database.counter(100), 5);
    EXPECT_EQ(woken.size(), 1U);
}

TEST(DbTransaction, ARehearsalTellsWhatWouldHappenAndLeavesNothing) {
    Tables database;
    const auto value = [](Transaction& tx) { return tx.run(select_counter, 1)[0].get<int>(0); };
    database->write([&](Transaction& tx) {
        tx.run(insert_counter, 1, 1);
        for (int i = 0; i < 2; ++i) {
            const int foreseen = tx.rehearse([&] {
                tx.start(add_to_counter, 1, 10);
                tx.start(insert_counter, 2, 2);  // nobody waits for it
                return value(tx);
            });
            EXPECT_EQ(foreseen, 11);
        }
        EXPECT_EQ(value(tx), 1) << "what was before it is still there";
        tx.run(add_to_counter, 1, 5);
    });
    EXPECT_EQ(database.counters(), 1);
    EXPECT_EQ(database->read(value), 6);
    EXPECT_THROW(database->write([&](Transaction& tx) {
        tx.run(insert_counter, 3, 3);
        tx.rehearse([]() -> int { throw Thrown(); });
    }),
                 Thrown);
    EXPECT_EQ(database.counters(), 1);
}

TEST(DbTransaction, TellsABrokenConstraint) {
    Tables database;
    database.add_counter(1, 1);
    const std::string_view broken[] = {
        "INSERT INTO counters (number, value) VALUES (1, 2)",
        "INSERT INTO counters (number, value) VALUES (2, NULL)",
        "INSERT INTO things (number, amount) VALUES (1, -1)",
    };
    for (const std::string_view sql : broken) {
        try {
            database->write([&](Transaction& tx) { tx.run(sql); });
            ADD_FAILURE() << sql;
        } catch (const db::StatementError& error) {
            EXPECT_TRUE(error.constraint()) << sql;
        }
    }
}

TEST(DbTransaction, CannotGoOnAfterAFailedStatement) {
    Tables database;
    database.add_counter(1, 1);
    EXPECT_THROW(database->write([](Transaction& tx) {
        try {
            tx.run(insert_counter, 1, 1);
        } catch (const db::StatementError&) {
        }
        EXPECT_THROW(tx.run(insert_counter, 2, 2), db::StatementError);
    }),
                 db::StatementError);
    EXPECT_EQ(database.counters(), 1);
}

TEST(DbTransaction, LosesNoFailureOfAStatementNobodyWaitedFor) {
    Tables database;
    database.add_counter(1, 1);
    EXPECT_THROW(database->write([](Transaction& tx) {
        tx.run(insert_counter, 2, 2);
        tx.start(insert_counter, 3, 3);
        tx.start(insert_counter, 1, 1);
        tx.start(insert_counter, 4, 4);
    }),
                 db::StatementError);
    EXPECT_THROW(database->write([](Transaction& tx) { tx.start(insert_counter, 1, 1); }),
                 db::StatementError);
    EXPECT_EQ(database.counters(), 1);
}

TEST(DbTransaction, FinishesTicketsInAnyOrder) {
    Tables database;
    database.add_counter(1, 10);
    database.add_counter(2, 20);
    database->write([](Transaction& tx) {
        const auto one = tx.start(select_counter, 1);
        const auto two = tx.start(select_counter, 2);
        const auto three = tx.start(add_to_counter, 1, 5);
        EXPECT_EQ(tx.finish(two)[0].get<int>(0), 20);
        EXPECT_EQ(tx.finish(three).affected, 1);
        EXPECT_EQ(tx.finish(one)[0].get<int>(0), 10);
        tx.start(add_to_counter, 2, 5);
    });
    EXPECT_EQ(database.counter(1), 15);
    EXPECT_EQ(database.counter(2), 25);
}

TEST(DbTransaction, SeesItsOwnWritesAndOthersDoNot) {
    Tables database;
    database->write([&](Transaction& tx) {
        tx.run(insert_counter, 1, 1);
        EXPECT_EQ(tx.run(count_counters)[0].get<int>(0), 1);
        std::thread([&] { EXPECT_EQ(database.counters(), 0); }).join();
    });
    EXPECT_EQ(database.counters(), 1);
}

TEST(DbTransaction, ReadsOneSnapshot) {
    Tables database;
    database->read([&](Transaction& tx) {
        EXPECT_EQ(tx.run(count_counters)[0].get<int>(0), 0);
        std::thread([&] { database.add_counter(1, 1); }).join();
        EXPECT_EQ(tx.run(count_counters)[0].get<int>(0), 0);
    });
    EXPECT_EQ(database.counters(), 1);
}

TEST(DbTransaction, CannotWriteInARead) {
    Tables database;
    EXPECT_THROW(database->read([](Transaction& tx) { tx.run(insert_counter, 1, 1); }),
                 db::StatementError);
    EXPECT_THROW(database->read([](Transaction& tx) { tx.start(insert_counter, 1, 1); }),
                 db::StatementError);
    EXPECT_EQ(database.counters(), 0);
}

TEST(DbTransaction, AddsUpExactlyUnder64Threads) {
    constexpr int threads = 64;
    constexpr int rounds = 25;
    Tables database({.connections_max = 8, .wait_max = std::chrono::seconds(60)});
    database.add_counter(1, threads * rounds - 100);  // the last hundred must be refused
    database.add_counter(2, 0);
    std::atomic<int> moved = 0;
    std::atomic<int> refused = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < threads; ++i) {
        callers.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                try {
                    database->write([](Transaction& tx) {
                        if (tx.run("UPDATE counters SET value = value - 1 "
                                   "WHERE number = 1 AND value >= 1")
                                .affected != 1)
                            throw Thrown();
                        tx.run(add_to_counter, 2, 1);
                    });
                    ++moved;
                } catch (const Thrown&) {
                    ++refused;
                }
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(moved, threads * rounds - 100);
    EXPECT_EQ(refused, 100);
    EXPECT_EQ(database.counter(1), 0);
    EXPECT_EQ(database.counter(2), threads * rounds - 100);
}

TEST(DbTransaction, WaitsForAConnectionOnlySoLong) {
    Tables database({.connections_max = 1, .wait_max = std::chrono::milliseconds(20)});
    database->read([&](Transaction& tx) {
        tx.run(count_counters);
        std::thread([&] { EXPECT_THROW(database.counters(), db::Unavailable); }).join();
    });
    EXPECT_EQ(database.counters(), 0);
}

TEST(DbTransaction, DumpsEveryRowTheSameWayEachTime) {
    Tables one;
    Tables two;
    for (const int number : {1, 2, 3}) one.add_counter(number, number);
    for (const int number : {3, 1, 2}) two.add_counter(number, number);
    EXPECT_EQ(dump(*one), dump(*two));
    two->write([](Transaction& tx) { tx.run(add_to_counter, 1, 1); });
    EXPECT_NE(dump(*one), dump(*two));
}

TEST(DbTransaction, NestingTransactionsIsABugThatUndoesTheOuterOne) {
    Tables database;
    const auto nest = [&](Transaction& tx) {
        tx.run(insert_counter, 1, 1);
        database->read([](Transaction&) {});
    };
    EXPECT_THROW(database->write(nest), Bug);
    EXPECT_EQ(database.counters(), 0);
}

TEST(DbOpen, RefusesAddressesThatAreNone) {
    for (const char* url :
         {"", "sqlite", "sqlite:", "sqlite::memory:", "mysql://host/name", "postgres://[bad",
          "postgres://h/n?no_such_option=1", "sqlite:/no/such/folder/file.db"})
        EXPECT_THROW(db::open(url), std::invalid_argument) << url;
}

}  // namespace
}  // namespace berth::test
