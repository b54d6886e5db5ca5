// The write that the database benchmarks measure: one idempotent transfer between two of 10,000
// accounts, as a request row, two conditional balance updates and two entries.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "bench/measure.hpp"
#include "db/migrate.hpp"

namespace berth::bench {

inline constexpr int accounts = 10'000;

inline constexpr db::Migration transfer_tables[] = {{"transfer", 1, R"(
    CREATE TABLE requests (key @int PRIMARY KEY, answer @text NOT NULL) @strict;
    CREATE TABLE balances (
        account @int PRIMARY KEY,
        value   @int NOT NULL CHECK (value >= 0)
    ) @strict;
    CREATE TABLE entries (
        key     @int NOT NULL,
        line    @int NOT NULL,
        account @int NOT NULL,
        amount  @int NOT NULL,
        PRIMARY KEY (key, line)
    ) @strict;
)"}};

inline constexpr std::string_view insert_request =
    "INSERT INTO requests (key, answer) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";
inline constexpr std::string_view debit =
    "UPDATE balances SET value = value - $2 WHERE account = $1 AND value >= $2";
inline constexpr std::string_view credit =
    "UPDATE balances SET value = value + $2 WHERE account = $1";
inline constexpr std::string_view insert_entry =
    "INSERT INTO entries (key, line, account, amount) VALUES ($1, $2, $3, $4)";
inline constexpr std::string_view answer = "{\"status\":\"done\"}";

inline void prepare_transfers(db::Database& database) {
    db::migrate(database, transfer_tables);
    database.write([](db::Transaction& tx) {
        for (int account = 1; account <= accounts; ++account)
            tx.start("INSERT INTO balances (account, value) VALUES ($1, $2)", account,
                     1'000'000'000'000);
    });
}

struct Transfer {
    std::int64_t key;
    int from;  // of the lower half, so that rows are always touched in ascending order
    int to;    // of the upper half
    int amount;
};

inline void run_transfer(db::Database& database, const Transfer& transfer) {
    database.write([&](db::Transaction& tx) {
        const auto request = tx.start(insert_request, transfer.key, answer);
        const auto taken = tx.start(debit, transfer.from, transfer.amount);
        const auto given = tx.start(credit, transfer.to, transfer.amount);
        tx.start(insert_entry, transfer.key, 1, transfer.from, -transfer.amount);
        tx.start(insert_entry, transfer.key, 2, transfer.to, transfer.amount);
        check(tx.finish(request).affected == 1, "the key is new");
        check(tx.finish(taken).affected == 1, "the balance suffices");
        check(tx.finish(given).affected == 1, "the account exists");
    });
}

// Transfers a second that `callers` threads get done.
inline double transfers_per_second(db::Database& database, int callers,
                                   std::chrono::seconds length) {
    using Clock = std::chrono::steady_clock;
    std::atomic<bool> stop = false;
    std::atomic<std::int64_t> done = 0;
    std::vector<std::thread> threads;
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < callers; ++i) {
        threads.emplace_back([&] {
            std::mt19937_64 random{std::random_device{}()};
            const auto up_to = [&](int limit) {
                return 1 + static_cast<int>(random() % static_cast<unsigned>(limit));
            };
            while (!stop) {
                run_transfer(database,
                             {static_cast<std::int64_t>(random() >> 1), up_to(accounts / 2),
                              accounts / 2 + up_to(accounts / 2), up_to(1000)});
                ++done;
            }
        });
    }
    std::this_thread::sleep_until(begin + length);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> span = Clock::now() - begin;
    return static_cast<double>(done) / span.count();
}

}  // namespace berth::bench
