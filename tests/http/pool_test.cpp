#include "http/pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "support/eventually.hpp"

namespace berth::http {
namespace {

using support::eventually;

TEST(Pool, RunsEverythingQueuedBeforeItEnds) {
    constexpr int works = 1000;
    std::atomic<int> ran{0};
    {
        Pool pool(4, works);
        for (int i = 0; i < works; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));
    }
    EXPECT_EQ(ran, works);
}

TEST(Pool, SaysFalseAndQueuesNothingWhenFull) {
    std::promise<void> started;
    std::promise<void> release;
    std::atomic<int> ran{0};
    {
        Pool pool(1, 2);
        ASSERT_TRUE(pool.post([&] {
            started.set_value();
            release.get_future().wait();
        }));
        started.get_future().wait();  // the queue is empty again and the one thread is busy
        EXPECT_TRUE(pool.post([&] { ++ran; }));
        EXPECT_TRUE(pool.post([&] { ++ran; }));
        EXPECT_FALSE(pool.post([&] { ran += 100; }));
        release.set_value();
    }
    EXPECT_EQ(ran, 2);
}

TEST(Pool, HasAllItsThreadsAtWorkWhenThereIsWorkForThem) {
    constexpr int threads = 4;
    Pool pool(threads, threads);
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> at_work{0};
        std::promise<void> release;
        const std::shared_future<void> released = release.get_future().share();
        for (int i = 0; i < threads; ++i)
            ASSERT_TRUE(pool.post([&at_work, released] {
                ++at_work;
                released.wait();
                --at_work;
            }));
        EXPECT_TRUE(eventually([&] { return at_work == threads; })) << round;
        release.set_value();
        ASSERT_TRUE(eventually([&] { return at_work == 0; })) << round;
    }
}

TEST(Pool, FreesWhatAWorkHoldsOnceItRan) {
    Pool pool(1, 1);
    auto held = std::make_shared<int>(7);
    const std::weak_ptr<int> watch = held;
    std::promise<void> ran;
    ASSERT_TRUE(pool.post([held = std::move(held)] {}));
    std::future<void> done = ran.get_future();
    while (!pool.post([&] { ran.set_value(); })) std::this_thread::yield();
    done.wait();
    EXPECT_TRUE(watch.expired());
}

TEST(Pool, KeepsThreadsForTheOtherLanesWhateverOneOfThemWaitsFor) {
    constexpr int threads = 64;
    std::promise<void> release;
    const std::shared_future<void> released = release.get_future().share();
    std::atomic<int> writers{0};
    Pool pool(threads, 1000);
    for (int i = 0; i < 500; ++i)
        ASSERT_TRUE(pool.post(
            [&writers, released] {
                ++writers;
                released.wait();
            },
            Pool::Lane::writes));
    EXPECT_TRUE(eventually([&] { return writers == 48; })) << writers;
    for (const Pool::Lane lane : {Pool::Lane::reads, Pool::Lane::first}) {
        std::atomic<int> others{0};
        for (int i = 0; i < 8; ++i)
            ASSERT_TRUE(pool.post(
                [&others, released] {
                    ++others;
                    released.wait();
                },
                lane));
        EXPECT_TRUE(eventually([&] { return others == 8; })) << others;
    }
    EXPECT_EQ(writers, 48);
    release.set_value();
    EXPECT_TRUE(eventually([&] { return writers == 500; }));
}

TEST(Pool, AFullLaneLeavesTheQueuesOfTheOthersAlone) {
    std::promise<void> release;
    const std::shared_future<void> released = release.get_future().share();
    std::atomic<int> ran{0};
    {
        Pool pool(8, 2);
        int taken = 0;
        while (taken < 100 && pool.post([released] { released.wait(); }, Pool::Lane::writes))
            ++taken;
        EXPECT_LT(taken, 100);
        EXPECT_TRUE(pool.post([&] { ++ran; }, Pool::Lane::reads));
        EXPECT_TRUE(pool.post([&] { ++ran; }, Pool::Lane::first));
        EXPECT_TRUE(eventually([&] { return ran == 2; }));
        release.set_value();
    }
}

}  // namespace
}  // namespace berth::http
