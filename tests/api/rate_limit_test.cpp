// Rate limits: what is counted, for whom, and in how much memory.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

const api::RateRule three_a_minute{"three", 3, std::chrono::minutes(1), api::RateRule::By::address};

TEST(RateLimiter, LetsThroughTheMaximumAndNoMore) {
    api::RateLimiter limiter;
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.allow(three_a_minute, "a", now));
    EXPECT_FALSE(limiter.allow(three_a_minute, "a", now));
    EXPECT_TRUE(limiter.allow(three_a_minute, "b", now));
}

TEST(RateLimiter, ABurstAtTheBorderOfTwoWindowsIsNotLetThroughTwice) {
    api::RateLimiter limiter;
    const Time end_of_window{6'059'000'000};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.allow(three_a_minute, "a", end_of_window));
    EXPECT_FALSE(limiter.allow(three_a_minute, "a", end_of_window + std::chrono::seconds(1)));
    EXPECT_TRUE(limiter.allow(three_a_minute, "a", end_of_window + std::chrono::seconds(61)));
}

TEST(RateLimiter, ALongPauseForgetsEverything) {
    api::RateLimiter limiter;
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(three_a_minute, "a", now);
    EXPECT_TRUE(limiter.allow(three_a_minute, "a", now + std::chrono::minutes(2)));
}

TEST(RateLimiter, RulesAreCountedApart) {
    api::RateLimiter limiter;
    const api::RateRule other{"other", 3, std::chrono::minutes(1), api::RateRule::By::address};
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(three_a_minute, "a", now);
    EXPECT_TRUE(limiter.allow(other, "a", now));
}

TEST(RateLimiter, MemoryIsBoundedAndTheBusyAreRemembered) {
    api::RateLimiter limiter(100);
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(three_a_minute, "busy", now);
    for (int i = 0; i < 10'000; ++i) {
        limiter.allow(three_a_minute, "stranger " + std::to_string(i), now);
        EXPECT_FALSE(limiter.allow(three_a_minute, "busy", now));
    }
    EXPECT_EQ(limiter.keys(), 100U);
}

TEST(RateLimiter, AnIpv6SubscriberIsOneHoweverManyAddresses) {
    EXPECT_EQ(api::address_key("2001:db8::1"), api::address_key("2001:db8:0:0:ffff::2"));
    EXPECT_NE(api::address_key("2001:db8::1"), api::address_key("2001:db8:0:1::1"));
    EXPECT_EQ(api::address_key("192.0.2.1"), "192.0.2.1");
}

TEST(RateLimits, OverTheLimitIs429UnavailableWithoutRetryAfter) {
    Harness harness;
    const Ask request{.method = "POST", .target = "/test/limited", .as = "host " + harness.new_id()};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(harness.ask(request).status, 204);
    const auto refused = harness.ask(request);
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "UNAVAILABLE");
    EXPECT_NE(refused.body.find("\"retryable\":true"), std::string::npos);
    harness.clock.advance(std::chrono::minutes(2));
    EXPECT_EQ(harness.ask(request).status, 204);
}

TEST(RateLimits, TheCredentialComesBeforeTheRateAndTheRateBeforeTheScope) {
    Harness harness;
    const std::string me = harness.new_id();
    const Ask nobody{.method = "POST", .target = "/test/limited"};
    for (int i = 0; i < 10; ++i) EXPECT_EQ(harness.ask(nobody).status, 401);
    const Ask renter{.method = "POST", .target = "/test/limited", .as = "renter " + me};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(harness.ask(renter).status, 403);
    EXPECT_EQ(harness.ask(renter).status, 429);
}

TEST(RateLimits, PublicRoutesAreCountedByAddress) {
    auto settings = Harness::default_settings();
    settings.rate_public_per_minute = 2;
    Harness harness({.settings = settings});
    const Ask status{.target = "/api/v1/status"};
    EXPECT_EQ(harness.ask(status).status, 200);
    EXPECT_EQ(harness.ask(status).status, 200);
    EXPECT_EQ(harness.ask(status).status, 429);
    http::Request elsewhere = make_request(status);
    elsewhere.client_address = "192.0.2.2";
    EXPECT_EQ(harness.app->service().answer(elsewhere).status, 200);
}

}  // namespace
}  // namespace berth::test
