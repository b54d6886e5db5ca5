// PostgreSQL stopped, cut off and killed under load: callers are told, and recover by themselves.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "db/tables.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

using db::Transaction;

constexpr int restart_writers = 8;
constexpr auto patience = std::chrono::seconds(60);

// Writers that each insert one number after the other and note what they were told.
class Load {
public:
    explicit Load(db::Database& database) {
        for (int writer = 0; writer < restart_writers; ++writer)
            threads_.emplace_back([this, &database, writer] { run(database, writer); });
    }
    ~Load() { stop(); }

    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_)
            if (thread.joinable()) thread.join();
    }

    // Until every writer has had `count` more writes acknowledged.
    bool wait_for_progress(std::size_t count) {
        std::unique_lock lock(mutex_);
        std::size_t goals[restart_writers];
        for (int i = 0; i < restart_writers; ++i) goals[i] = done_[i] + count;
        return changed_.wait_for(lock, patience, [&] {
            return std::equal(std::begin(goals), std::end(goals), std::begin(done_),
                              [](std::size_t goal, std::size_t done) { return done >= goal; });
        });
    }
    bool wait_for_failure() {
        std::unique_lock lock(mutex_);
        const std::size_t before = not_done.size() + unknown.size();
        return changed_.wait_for(lock, patience,
                                 [&] { return not_done.size() + unknown.size() > before; });
    }

    std::set<std::int64_t> acknowledged;
    std::set<std::int64_t> not_done;
    std::set<std::int64_t> unknown;

private:
    void run(db::Database& database, int writer) {
        for (std::int64_t i = 1;; ++i) {
            const std::int64_t number = writer * 100'000'000LL + i;
            std::set<std::int64_t>* told = &acknowledged;
            try {
                database.write([&](Transaction& tx) { tx.run(insert_counter, number, 1); });
            } catch (const db::Unavailable&) {
                told = &not_done;
            } catch (const db::OutcomeUnknown&) {
                told = &unknown;
            }
            std::unique_lock lock(mutex_);
            told->insert(number);
            if (told == &acknowledged) ++done_[writer];
            changed_.notify_all();
            // A caller that was refused comes again a little later.
            const auto pause = std::chrono::milliseconds(told == &acknowledged ? 0 : 2);
            if (changed_.wait_for(lock, pause, [&] { return stopping_; })) return;
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::size_t done_[restart_writers] = {};
    std::vector<std::thread> threads_;
};

std::set<std::int64_t> numbers_in(db::Database& database) {
    const db::Result rows =
        database.read([](Transaction& tx) { return tx.run("SELECT number FROM counters"); });
    std::set<std::int64_t> numbers;
    for (std::size_t i = 0; i < rows.size(); ++i) numbers.insert(rows[i].get<std::int64_t>(0));
    EXPECT_EQ(numbers.size(), rows.size());
    return numbers;
}

TEST(PostgresOnlyRestart, LosesNothingAcknowledgedAndRecoversByItself) {
    PostgresCluster cluster("fsync = off");  // no power is cut, so nothing is lost with it
    const auto database = db::open(cluster.url());
    db::migrate(*database, tables);
    Load load(*database);
    for (int round = 0; round < 6; ++round) {
        ASSERT_TRUE(load.wait_for_progress(10)) << "round " << round;
        if (round % 3 == 0) cluster.stop(PostgresCluster::Stop::fast);
        if (round % 3 == 1) cluster.stop(PostgresCluster::Stop::immediate);
        if (round % 3 == 2) cluster.kill();
        ASSERT_TRUE(load.wait_for_failure()) << "round " << round;
        cluster.start();
    }
    ASSERT_TRUE(load.wait_for_progress(10));
    load.stop();

    const std::set<std::int64_t> present = numbers_in(*database);
    for (const std::int64_t number : load.acknowledged)
        EXPECT_TRUE(present.contains(number)) << number << " was acknowledged";
    for (const std::int64_t number : load.not_done)
        EXPECT_FALSE(present.contains(number)) << number << " was said not to be done";
    EXPECT_FALSE(load.not_done.empty());
}

}  // namespace
}  // namespace berth::test
