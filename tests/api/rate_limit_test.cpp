// Rate limits: what is counted, for whom, and in how much memory.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

const api::RateRule minute{"minute", nullptr, std::chrono::minutes(1), api::RateRule::By::address};
constexpr std::int64_t three = 3;

TEST(RateLimiter, LetsThroughTheMaximumAndNoMore) {
    api::RateLimiter limiter;
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.allow(minute, "a", now, three));
    EXPECT_FALSE(limiter.allow(minute, "a", now, three));
    EXPECT_TRUE(limiter.allow(minute, "b", now, three));
}

TEST(RateLimiter, ABurstAtTheBorderOfTwoWindowsIsNotLetThroughTwice) {
    api::RateLimiter limiter;
    const Time end_of_window{6'059'000'000};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.allow(minute, "a", end_of_window, three));
    EXPECT_FALSE(limiter.allow(minute, "a", end_of_window + std::chrono::seconds(1), three));
    EXPECT_TRUE(limiter.allow(minute, "a", end_of_window + std::chrono::seconds(61), three));
}

TEST(RateLimiter, ALongPauseForgetsEverything) {
    api::RateLimiter limiter;
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(minute, "a", now, three);
    EXPECT_TRUE(limiter.allow(minute, "a", now + std::chrono::minutes(2), three));
}

TEST(RateLimiter, RulesAreCountedApart) {
    api::RateLimiter limiter;
    const api::RateRule other{"other", nullptr, std::chrono::minutes(1),
                              api::RateRule::By::address};
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(minute, "a", now, three);
    EXPECT_TRUE(limiter.allow(other, "a", now, three));
}

TEST(RateLimiter, MemoryIsBoundedAndTheBusyAreRemembered) {
    api::RateLimiter limiter(100);
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(minute, "busy", now, three);
    for (int i = 0; i < 10'000; ++i) {
        limiter.allow(minute, "stranger " + std::to_string(i), now, three);
        EXPECT_FALSE(limiter.allow(minute, "busy", now, three));
    }
    EXPECT_EQ(limiter.keys(), 100U);
}

TEST(RateLimiter, AnIpv6SubscriberIsOneHoweverManyAddresses) {
    EXPECT_EQ(api::address_key("2001:db8::1"), api::address_key("2001:db8:0:0:ffff::2"));
    EXPECT_NE(api::address_key("2001:db8::1"), api::address_key("2001:db8:0:1::1"));
    EXPECT_EQ(api::address_key("192.0.2.1"), "192.0.2.1");
}

TEST(RateLimiter, AMaximumThatWasChangedHoldsAtOnce) {
    api::RateLimiter limiter;
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) limiter.allow(minute, "a", now, three);
    EXPECT_TRUE(limiter.allow(minute, "a", now, 4));
    EXPECT_FALSE(limiter.allow(minute, "a", now, 2));
}

TEST(RateLimits, OverTheLimitIs429UnavailableWithoutRetryAfter) {
    Harness harness;
    const Ask request{
        .method = "POST", .target = "/test/limited", .as = "host " + harness.new_id()};
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

TEST(RateLimits, ARouteOfAccountsThatNamesNoRuleHasTheRateOfAccounts) {
    Harness harness({.flags = {{"rate-account-per-minute", "2"}}});
    const Ask mine{.target = "/test/entries", .as = "renter " + harness.new_id()};
    EXPECT_EQ(harness.ask(mine).status, 200);
    EXPECT_EQ(harness.ask(mine).status, 200);
    EXPECT_EQ(harness.ask(mine).status, 429);
    const Ask theirs{.target = "/test/entries", .as = "renter " + harness.new_id()};
    EXPECT_EQ(harness.ask(theirs).status, 200);
}

TEST(RateLimits, WhatABalancerAsksIsNeverRefused) {
    Harness harness({.flags = {{"rate-public-per-minute", "1"}}});
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(harness.ask({.target = "/healthz"}).status, 200);
        EXPECT_EQ(harness.ask({.target = "/readyz"}).status, 200);
    }
}

TEST(RateLimits, AnAddressThatSendsWrongCredentialsIsNotListenedToForAWhile) {
    Harness harness({.flags = {{"rate-invalid-credentials-per-minute", "3"}}});
    const std::string neighbour = "renter " + harness.new_id();
    EXPECT_EQ(harness.ask({.target = "/test/entries", .as = neighbour}).status, 200);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(harness.ask({.target = "/test/entries", .as = "invented"}).status, 401);
    const std::string fresh = "renter " + harness.new_id();
    EXPECT_EQ(harness.ask({.target = "/test/entries", .as = "invented"}).status, 429);
    EXPECT_EQ(harness.ask({.target = "/test/entries", .as = fresh}).status, 429);
    EXPECT_EQ(harness.ask({.target = "/test/entries", .as = neighbour}).status, 200)
        << "a credential that was good lately is not taken for a guess";
    http::Request elsewhere = make_request({.target = "/test/entries", .as = fresh});
    elsewhere.client_address = "192.0.2.2";
    EXPECT_EQ(harness.app->service().answer(elsewhere).status, 200);
    harness.clock.advance(std::chrono::minutes(2));
    EXPECT_EQ(harness.ask({.target = "/test/entries", .as = fresh}).status, 200);
}

TEST(RateLimits, AMissingCredentialIsNotCountedAsAWrongOne) {
    Harness harness({.flags = {{"rate-invalid-credentials-per-minute", "1"}}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(harness.ask({.target = "/test/entries"}).status, 401);
    const Ask good{.target = "/test/entries", .as = "renter " + harness.new_id()};
    EXPECT_EQ(harness.ask(good).status, 200);
}

TEST(RateLimits, PublicRoutesAreCountedByAddress) {
    Harness harness({.flags = {{"rate-public-per-minute", "2"}}});
    const Ask status{.target = "/api/v1/status"};
    EXPECT_EQ(harness.ask(status).status, 200);
    EXPECT_EQ(harness.ask(status).status, 200);
    EXPECT_EQ(harness.ask(status).status, 429);
    http::Request elsewhere = make_request(status);
    elsewhere.client_address = "192.0.2.2";
    EXPECT_EQ(harness.app->service().answer(elsewhere).status, 200);
}

TEST(RateLimiter, AFloodUnderOneRuleMakesNoOtherRuleForgetAnybody) {
    api::RateLimiter limiter(100);
    const api::RateRule other{"other", nullptr, std::chrono::minutes(1),
                              api::RateRule::By::address};
    const Time now{6'000'000'000};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.allow(minute, "guesser", now, three));
    for (int i = 0; i < 10'000; ++i)
        limiter.allow(other, "stranger " + std::to_string(i), now, three);
    EXPECT_FALSE(limiter.allow(minute, "guesser", now, three));
    EXPECT_EQ(limiter.keys(), 101U);
}

TEST(RateLimiter, AWholeNetworkMayDoAsMuchAsSomeOfItsSubscribers) {
    api::RateLimiter limiter;
    const Time now{6'000'000'000};
    int allowed = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::string address = "2001:db8:7:" + std::to_string(i) + "::1";
        if (limiter.allow(minute, address, now, three)) ++allowed;
    }
    EXPECT_EQ(allowed, three * api::subscribers_of_network);
    EXPECT_TRUE(limiter.is_spent(minute, "2001:db8:7:ffff::1", now, three));
    EXPECT_TRUE(limiter.allow(minute, "2001:db8:8::1", now, three)) << "another network";
    EXPECT_TRUE(limiter.allow(minute, "192.0.2.1", now, three));
    EXPECT_LT(limiter.keys(), 100U) << "who is refused takes up no room";
}

}  // namespace
}  // namespace berth::test
