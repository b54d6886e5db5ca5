// SQLite: kill -9 of a process in the middle of writing loses nothing it acknowledged.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "db/tables.hpp"

namespace berth::test {
namespace {

using db::Transaction;

constexpr int cycles = 30;
constexpr int writers = 4;
constexpr int sum_row = 0;

// Writes for ever; tells each number on `acknowledged` once its commit has returned.
[[noreturn]] void write_until_killed(const TestDatabase& place, int cycle, int acknowledged) {
    const auto database = place.open();
    std::vector<std::thread> threads;
    for (int writer = 0; writer < writers; ++writer) {
        threads.emplace_back([&, writer] {
            for (std::int64_t i = 1;; ++i) {
                const std::int64_t number = (cycle * writers + writer + 1) * 1'000'000LL + i;
                database->write([&](Transaction& tx) {
                    tx.start(insert_counter, number, 1);
                    tx.start(add_to_counter, sum_row, 1);
                });
                if (write(acknowledged, &number, sizeof number) != sizeof number) _exit(1);
            }
        });
    }
    for (;;) pause();
}

// Kills the child after a number of acknowledgements that differs from cycle to cycle; returns all
// of them, also those that were still in the pipe.
std::vector<std::int64_t> run_and_kill(const TestDatabase& place, int cycle) {
    int channel[2];
    EXPECT_EQ(pipe(channel), 0);
    const pid_t child = fork();
    if (child == 0) write_until_killed(place, cycle, channel[1]);
    close(channel[1]);
    std::vector<std::int64_t> acknowledged;
    std::int64_t number = 0;
    while (read(channel[0], &number, sizeof number) == sizeof number) {
        acknowledged.push_back(number);
        if (acknowledged.size() == 1 + static_cast<std::size_t>(cycle * 7 % 100))
            kill(child, SIGKILL);
    }
    close(channel[0]);
    waitpid(child, nullptr, 0);
    return acknowledged;
}

TEST(SqliteOnlyCrash, KeepsEveryAcknowledgedWriteExactlyOnce) {
    const auto place = TestDatabase::sqlite();
    {
        const auto database = place->open();
        db::migrate(*database, tables);
        database->write([](Transaction& tx) { tx.run(insert_counter, sum_row, 0); });
    }
    std::vector<std::int64_t> acknowledged;
    for (int cycle = 0; cycle < cycles; ++cycle) {
        for (const std::int64_t number : run_and_kill(*place, cycle))
            acknowledged.push_back(number);
        const auto database = place->open();
        database->read([&](Transaction& tx) {
            const db::Result rows = tx.run("SELECT number FROM counters WHERE number > 0");
            std::set<std::int64_t> present;
            for (std::size_t i = 0; i < rows.size(); ++i)
                present.insert(rows[i].get<std::int64_t>(0));
            for (const std::int64_t number : acknowledged)
                EXPECT_TRUE(present.contains(number)) << number;
            // Both halves of each transaction, or neither.
            EXPECT_EQ(tx.run(select_counter, sum_row)[0].get<std::size_t>(0), present.size());
            EXPECT_EQ(tx.run("PRAGMA integrity_check")[0].get<std::string>(0), "ok");
        });
    }
    EXPECT_GE(acknowledged.size(), static_cast<std::size_t>(cycles));
}

}  // namespace
}  // namespace berth::test
