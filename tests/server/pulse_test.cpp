// Whether the service is ready is said in time, also while a part of it is silent.
#include "server/pulse.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "support/harness.hpp"

namespace berth::server {
namespace {

constexpr std::chrono::seconds wait_max{60};

Probes good_probes() {
    const auto good = [] { return CheckState::ok; };
    return {.db = good,
            .worker = good,
            .chain = good,
            .mail = good,
            .settler = good,
            .locations = good,
            .liabilities = good,
            .requests = good};
}

TEST(Pulse, ASilentDatabaseIsToldInTimeAndUntilItSpeaksAgain) {
    std::promise<void> speaks;
    const std::shared_future<void> spoken = speaks.get_future().share();
    Probes probes = good_probes();
    probes.db = [&] {
        spoken.wait();
        return CheckState::ok;
    };
    Pulse pulse(std::move(probes));
    pulse.start();  // returns although nobody answered
    EXPECT_EQ(pulse.checks().db, CheckState::failed);
    speaks.set_value();
    const auto end = std::chrono::steady_clock::now() + wait_max;
    while (pulse.checks().db != CheckState::ok && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    EXPECT_LT(std::chrono::steady_clock::now(), end);
    pulse.stop();
}

TEST(Pulse, HoweverManyAskThePartsAreAskedByOneAlone) {
    std::atomic<int> looks = 0;
    Probes probes = good_probes();
    probes.db = [&] {
        ++looks;
        return CheckState::ok;
    };
    Pulse pulse(std::move(probes));
    pulse.start();
    constexpr int askers = 10'000;
    for (int i = 0; i < askers; ++i) pulse.checks();
    EXPECT_LT(looks, askers / 10);
    pulse.stop();
}

// Whoever works, here or in another process, is seen in the database.
TEST(BackgroundWork, IsDownWhenNoWorkerAnywhereTakesItUp) {
    test::Harness harness({.flags = {{"worker-threads", "0"}}});
    const auto background = [&] {
        const std::string body = harness.ask({.target = "/api/v1/status"}).body;
        return body.find(R"({"name":"background","status":"operational"})") != body.npos;
    };
    EXPECT_TRUE(background()) << "a worker may be about to start";
    harness.clock.advance(std::chrono::seconds(61));
    EXPECT_FALSE(background()) << "nobody has planted what comes again";
    while (harness.app->worker().run_one()) {
    }
    EXPECT_TRUE(background());
    harness.clock.advance(std::chrono::seconds(59));
    EXPECT_TRUE(background());
    harness.clock.advance(std::chrono::seconds(10));
    EXPECT_FALSE(background()) << "what is due every second was not taken up for a minute";
}

}  // namespace
}  // namespace berth::server
