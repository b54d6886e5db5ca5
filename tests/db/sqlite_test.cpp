// What is particular to SQLite: one owner, one writer, groups, a bounded queue and log.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <semaphore>
#include <thread>

#include "base/log.hpp"
#include "db/tables.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using db::Transaction;

constexpr int queue_max = 20;
constexpr int too_many = 5;

struct Refused : std::exception {};

struct SqliteFixture : Tables {
    explicit SqliteFixture(const db::Options& options = {})
        : Tables(TestDatabase::sqlite(), options) {}
    std::string path() const { return url().substr(std::string_view("sqlite:").size()); }
};

// Holds the writer in a closure while callers fill the queue and some more are refused. Then they
// all run in the group of that closure.
struct FullQueue {
    std::vector<int> done;  // the number of each caller that was answered well
    int refused = 0;        // threw Refused
    int unavailable = 0;

    template <class Work>
    FullQueue(db::Database& database, const Work& work, const std::function<void()>& when_full) {
        std::promise<void> held;
        std::promise<void> release;
        std::mutex mutex;
        std::counting_semaphore<> turned_away(0);
        const auto call = [&](int number, auto closure) {
            try {
                database.write(closure);
                const std::lock_guard lock(mutex);
                done.push_back(number);
            } catch (const Refused&) {
                const std::lock_guard lock(mutex);
                ++refused;
            } catch (const db::Unavailable&) {
                const std::lock_guard lock(mutex);
                ++unavailable;
                turned_away.release();
            }
        };
        std::vector<std::thread> callers;
        callers.emplace_back([&] {
            call(0, [&](Transaction& tx) {
                held.set_value();
                release.get_future().wait();
                work(tx, 0);
            });
        });
        held.get_future().wait();
        for (int i = 1; i <= queue_max + too_many; ++i)
            callers.emplace_back([&, i] { call(i, [&](Transaction& tx) { work(tx, i); }); });
        for (int i = 0; i < too_many; ++i) turned_away.acquire();
        when_full();
        release.set_value();
        for (std::thread& caller : callers) caller.join();
    }
};

TEST(SqliteOnlyWriter, RefusesWhatDoesNotFitIntoTheQueue) {
    SqliteFixture database({.write_queue_max = queue_max});
    const FullQueue queue(
        *database, [](Transaction& tx, int number) { tx.run(insert_counter, number, number); },
        [] {});
    EXPECT_EQ(queue.unavailable, too_many);
    EXPECT_EQ(queue.done.size(), 1u + queue_max);
    EXPECT_EQ(database.counters(), 1 + queue_max);
}

TEST(SqliteOnlyWriter, UndoesOnlyTheClosureThatFailed) {
    SqliteFixture database({.write_queue_max = queue_max});
    const FullQueue queue(
        *database,
        [](Transaction& tx, int number) {
            tx.run(insert_counter, number, number);
            if (number % 3 == 0) throw Refused();  // the first of the group among them
        },
        [] {});
    EXPECT_EQ(queue.unavailable, too_many);
    EXPECT_EQ(queue.done.size() + static_cast<std::size_t>(queue.refused), 1u + queue_max);
    EXPECT_GE(queue.refused, 1);
    EXPECT_EQ(database.counters(), static_cast<std::int64_t>(queue.done.size()));
    for (const int number : queue.done) EXPECT_EQ(database.counter(number), number);
}

// The process may not make files grow while one lives.
class FileSizeLimit {
public:
    explicit FileSizeLimit(std::uintmax_t bytes) {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limited = before_;
        limited.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limited);
    }
    ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

TEST(SqliteOnlyWriter, LeavesNothingOfAGroupWhoseCommitFails) {
    SqliteFixture database({.write_queue_max = queue_max});
    database.add_counter(1000, 1);
    std::optional<FileSizeLimit> disk_is_full;
    const FullQueue queue(
        *database,
        [](Transaction& tx, int number) {
            tx.run(insert_counter, number, number);
            if (number % 7 == 0) throw Refused();
        },
        [&] { disk_is_full.emplace(std::filesystem::file_size(database.path() + "-wal")); });
    EXPECT_EQ(queue.unavailable, too_many + 1 + queue_max);
    EXPECT_EQ(database.counters(), 1);
    EXPECT_THROW(database.add_counter(1001, 1), db::Unavailable);

    disk_is_full.reset();
    database.add_counter(1002, 1);  // the writer lives
    EXPECT_EQ(database.counters(), 2);
    database.reopen();
    EXPECT_EQ(database.counters(), 2);
}

// What a handler logs inside its transaction is found by the request's id, although another thread
// runs it, among those of other requests.
TEST(SqliteOnlyWriter, LogsUnderTheRequestWhoseClosureItRuns) {
    SqliteFixture tables;
    std::vector<std::thread> threads;
    std::array<std::string, 8> seen;
    for (std::size_t i = 0; i < seen.size(); ++i)
        threads.emplace_back([&, i] {
            const LogScope scope("request-" + std::to_string(i));
            tables->write([&](Transaction&) { seen[i] = LogScope::current(); });
        });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < seen.size(); ++i)
        EXPECT_EQ(seen[i], "request-" + std::to_string(i));
}

TEST(SqliteOnlyWriter, RunsOnTheCallerWithoutAThread) {
    SqliteFixture database({.writer_thread = false});
    const std::thread::id caller = std::this_thread::get_id();
    database->write([&](Transaction& tx) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        tx.run(insert_counter, 1, 1);
    });
    EXPECT_THROW(database->write([](Transaction& tx) {
        tx.run(insert_counter, 2, 2);
        throw Refused();
    }),
                 Refused);
    EXPECT_EQ(database.counters(), 1);
}

TEST(SqliteOnlyWriter, KeepsTheLogBoundedOnceReadersLetGo) {
    constexpr int writes = 100;
    constexpr std::uintmax_t log_bytes_max = 20'000'000;
    SqliteFixture database;
    const std::string data(64 * 1024, 'x');
    int number = 0;
    const auto write_some = [&] {
        for (int i = 0; i < writes; ++i)
            database->write([&](Transaction& tx) {
                tx.run(insert_thing, ++number, 0, "", db::Blob{data}, Uuid{});
            });
        return std::filesystem::file_size(database.path() + "-wal");
    };
    const std::uintmax_t held = database->read([&](Transaction& tx) {
        tx.run(count_counters);
        std::uintmax_t bytes = 0;
        std::thread([&] { bytes = write_some(); }).join();
        return bytes;
    });
    EXPECT_GT(held, data.size() * writes / 2);
    for (int i = 0; i < 4; ++i) EXPECT_LT(write_some(), log_bytes_max);
}

TEST(SqliteOnlyLock, RefusesASecondOpenAndNamesTheHolder) {
    SqliteFixture database;
    const std::string link = database.path() + "-link";
    std::filesystem::create_symlink(database.path(), link);
    for (const std::string& path : {database.path(), link}) {
        try {
            db::open("sqlite:" + path);
            ADD_FAILURE() << "opened twice";
        } catch (const std::invalid_argument& error) {
            const std::string message = error.what();
            EXPECT_NE(message.find(database.path()), message.npos) << message;
            EXPECT_NE(message.find(std::to_string(getpid())), message.npos) << message;
        }
    }
}

TEST(SqliteOnlyLock, IsHeldAgainstOtherProcessesAndFallsWithItsHolder) {
    const auto place = TestDatabase::sqlite();
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto database = place->open();
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_THROW(place->open(), std::invalid_argument);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_NO_THROW(place->open());
    close(ready[0]);
    close(ready[1]);
}

TEST(SqliteOnlyLock, IsTakenBeforeTheDatabaseIsTouched) {
    SqliteFixture database;
    const auto before = std::filesystem::last_write_time(database.path());
    const auto size = std::filesystem::file_size(database.path() + "-wal");
    EXPECT_THROW(db::open(database.url()), std::invalid_argument);
    EXPECT_EQ(std::filesystem::last_write_time(database.path()), before);
    EXPECT_EQ(std::filesystem::file_size(database.path() + "-wal"), size);
}

TEST(SqliteOnlyWriter, WhatItDoesNotBeginWithInTimeIsTakenBackAndNeverRun) {
    SqliteFixture database({.write_wait_max = std::chrono::milliseconds(100)});
    std::promise<void> held;
    std::promise<void> release;
    EXPECT_TRUE(support::eventually([&] { return database->writing_for() == Duration{}; }));
    std::thread holder([&] {
        database->write([&](Transaction&) {
            held.set_value();
            release.get_future().wait();
        });
    });
    held.get_future().wait();
    std::atomic<int> ran{0};
    EXPECT_THROW(database->write([&](Transaction&) { ++ran; }), db::Unavailable);
    EXPECT_GE(database->writing_for(), std::chrono::milliseconds(100));
    release.set_value();
    holder.join();  // it was begun with, and so was waited for
    database->write([&](Transaction&) { ran += 10; });
    EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace berth::test
