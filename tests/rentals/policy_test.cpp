// What the policy of a key lets through, one request at a time and many at once.
#include <latch>
#include <thread>

#include "rentals/market.hpp"

namespace berth::test {
namespace {

class KeyPolicies : public MarketTest {
protected:
    // A renter with money whose key has this policy.
    Person join_with(const std::string& policy) {
        return join(R"(["renter"],"policy":)" + policy, 10'000'000);
    }
    http::Response dry_run(const Person& who, const machines::Machine& machine, const Wish& wish) {
        hear(town.harness, machine.machine_id);
        return town.harness.ask({.method = "POST",
                                 .target = "/api/v1/quotes?dry_run=true",
                                 .as = who.key,
                                 .body = quote_body(machine, wish)});
    }
    std::int64_t quotes() {
        return database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM quotes").value();
        });
    }
    void refused(const http::Response& answer, const std::string& rule) {
        EXPECT_EQ(error_code(answer), "FORBIDDEN") << answer.body;
        EXPECT_NE(error_message(answer).find(rule), std::string::npos) << answer.body;
    }
    http::Response raise(const Person& who, JobId job, int version, std::int64_t add) {
        return send(
            who, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
            fmt::format(R"({{"add_micro":"{}","expected_budget_version":"{}"}})", add, version));
    }
};

TEST_F(KeyPolicies, OfFiftyReservationsAtOnceExactlyThreeComeThrough) {
    town.harness.set("operations.rate_quotes_per_minute", "1000");
    const Person carl = join_with(R"({"max_open_rentals":3})");
    std::vector<std::string> quotes_made;
    for (int i = 0; i < 50; ++i) {
        const auto quoted = quote(carl, put_up(), {.budget = 1000});
        ASSERT_EQ(quoted.status, 201) << quoted.body;
        quotes_made.push_back(member(quoted.body, "quote_id"));
    }
    std::latch start(50);
    std::vector<http::Response> answers(50);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 50; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            answers[i] = reserve(carl, quotes_made[i]);
        });
    for (std::thread& thread : threads) thread.join();
    int won = 0;
    for (const http::Response& answer : answers) {
        if (answer.status == 202)
            ++won;
        else
            refused(answer, "max_open_rentals");
    }
    EXPECT_EQ(won, 3);
    EXPECT_EQ(balances(carl).held, Micro{3000});
    const auto me = send(carl, "GET", "/api/v1/auth/session");
    EXPECT_EQ(member(me.body, "policy_left.open_rentals"), "0");
}

TEST_F(KeyPolicies, EachRuleRefusesByItsName) {
    const auto machine = put_up();
    const auto refusal = [&](const std::string& policy, const std::string& rule) {
        const Person carl = join_with(policy);
        refused(quote(carl, machine, {}), rule);
        const auto asked = dry_run(carl, machine, {});
        EXPECT_EQ(asked.status, 200) << asked.body;
        EXPECT_EQ(member(asked.body, "refused_by.0"), rule);
        EXPECT_EQ(member(asked.body, "refused_by.1"), "");
    };
    refusal(fmt::format(R"({{"max_rate_micro_per_hour":"{}"}})", rate - 1),
            "max_rate_micro_per_hour");
    refusal(R"({"max_open_rentals":0})", "max_open_rentals");
    refusal(R"({"max_hold_micro":"999999"})", "max_hold_micro");
    refusal(R"({"per_day_micro":"999999"})", "per_day_micro");
    refusal(fmt::format(R"({{"templates":["{}"]}})", model), "templates");
    refusal(R"({"classes":["interruptible"]})", "classes");
    const Person dora = join_with(fmt::format(
        R"({{"max_rate_micro_per_hour":"{}","max_open_rentals":1,"max_hold_micro":"1000000",)"
        R"("per_day_micro":"1000000","templates":["{}"],"classes":["dedicated"]}})",
        rate, classical));
    EXPECT_EQ(member(dry_run(dora, machine, {}).body, "refused_by"), "[]");
    rent(dora, machine);
}

TEST_F(KeyPolicies, ADryRunNeedsNoKeyAndStoresNothing) {
    const auto machine = put_up();
    const auto before = quotes();
    const auto asked = dry_run(ben, machine, {});
    EXPECT_EQ(asked.status, 200) << asked.body;
    EXPECT_EQ(member(asked.body, "quote_id"), "null");
    EXPECT_EQ(member(asked.body, "refused_by"), "[]");
    EXPECT_EQ(member(asked.body, "budget_micro"), "1000000");
    EXPECT_EQ(quotes(), before);
    const auto unkeyed = town.harness.ask({.method = "POST",
                                           .target = "/api/v1/quotes?dry_run=false",
                                           .as = ben.key,
                                           .body = quote_body(machine, {})});
    EXPECT_EQ(error_code(unkeyed), "INVALID_INPUT");
    const auto made = quote(ben, machine, {});
    EXPECT_EQ(member(made.body, "refused_by"), "");
}

TEST_F(KeyPolicies, WhatARentalHeldComesBackWithItsEndButNotTheDay) {
    const Person carl =
        join_with(R"({"max_open_rentals":1,"max_hold_micro":"1500000","per_day_micro":"2800000"})");
    const auto machine = put_up();
    const JobId job = rent(carl, machine);
    refused(raise(carl, job, 1, 500'001), "max_hold_micro");
    EXPECT_EQ(raise(carl, job, 1, 500'000).status, 202);
    EXPECT_EQ(balances(carl).held, Micro{1'500'000});
    const auto other = put_up();
    refused(quote(carl, other, {.budget = 1}), "max_open_rentals");
    stop(carl, job);
    EXPECT_EQ(clean(job), "CLOSED");
    const auto me = send(carl, "GET", "/api/v1/auth/session");
    EXPECT_EQ(member(me.body, "policy.max_open_rentals"), "1");
    EXPECT_EQ(member(me.body, "policy_left.open_rentals"), "1");
    EXPECT_EQ(member(me.body, "policy_left.hold_micro"), "1500000");
    EXPECT_EQ(member(me.body, "policy_left.today_micro"), "1300000");
    refused(quote(carl, machine, {.budget = 1'300'001}), "per_day_micro");
    const JobId second = rent(carl, machine, {.budget = 1'300'000});
    refused(raise(carl, second, 1, 1), "per_day_micro");
    town.harness.clock.advance(hours(24));
    EXPECT_EQ(raise(carl, second, 1, 1).status, 202);
}

// Two servers whose clocks are apart take turns around midnight.
TEST_F(KeyPolicies, ADayThatHasBegunIsNotBegunAgain) {
    const Person carl = join_with(R"({"per_day_micro":"1000002"})");
    auto& clock = town.harness.clock;
    constexpr std::int64_t day = 86'400'000'000;
    const auto since_midnight = [&] { return std::chrono::microseconds(clock.now().micros % day); };
    const auto machine = put_up();
    clock.advance(std::chrono::hours(24) - since_midnight());
    const JobId job = rent(carl, machine);
    const Duration behind = since_midnight() + std::chrono::seconds(1);
    clock.advance(-behind);
    EXPECT_EQ(raise(carl, job, 1, 2).status, 202);
    refused(raise(carl, job, 2, 1), "per_day_micro");
    clock.advance(behind);
    refused(raise(carl, job, 2, 1), "per_day_micro");
}

// A refused raise leaves the budget as it was, and another credential of the account may raise it.
TEST_F(KeyPolicies, BindTheKeyAndNotTheAccount) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const std::string body =
        town.enlist(wallet, R"(["renter"],"policy":{"max_hold_micro":"1000000"})").body;
    Person narrow{member(body, "api_key.secret"),
                  AccountId{parse_uuid(member(body, "account_id")).value()}};
    Person wide{member(town.enlist(wallet, R"(["renter"])").body, "api_key.secret"),
                narrow.account};
    database().write([&](db::Transaction& tx) {
        ledger::deposit({tx, town.harness.random, now()},
                        {narrow.account, ledger::Asset::usdc, Micro{5'000'000}, "test:deposit"});
    });
    const auto machine = put_up();
    const JobId job = rent(narrow, machine);
    refused(raise(narrow, job, 1, 1), "max_hold_micro");
    EXPECT_EQ(raise(wide, job, 1, 1'000'000).status, 202);
    EXPECT_EQ(find(job).live.budget, Micro{2'000'000});
    const auto keys = send(wide, "GET", "/api/v1/account/api-keys");
    EXPECT_EQ(member(keys.body, "items.0.policy"), "null");
    EXPECT_EQ(member(keys.body, "items.1.policy.max_hold_micro"), "1000000");
}

TEST_F(KeyPolicies, AreReadStrictly) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    for (const char* policy :
         {R"({"max_open_rentals":-1})", R"({"templates":[]})", R"({"templates":["x"]})",
          R"({"classes":["spot"]})", R"({"per_day_micro":5})", R"({"more":1})"}) {
        const auto answer = town.enlist(wallet, R"(["renter"],"policy":)" + std::string(policy));
        EXPECT_EQ(answer.status, 422) << policy;
    }
}

}  // namespace
}  // namespace berth::test
