// What a key with a policy may send out of the service.
#include <thread>

#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct KeyWithdrawals : PayingTown {
    KeyWithdrawals() { save(ada, "ada@example.org"); }

    std::string key_with(const std::string& policy) {
        EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
        const auto made = post(ada, "/api/v1/account/api-keys",
                               R"({"name":"k","scopes":["renter"])" +
                                   (policy.empty() ? "" : R"(,"policy":)" + policy) + "}");
        EXPECT_EQ(made.status, 201) << made.body;
        return member(made.body, "secret");
    }
    http::Response withdraw(const std::string& key, const std::string& amount) {
        return town.with_key(key, "POST", "/api/v1/withdrawals", wish(amount));
    }

    Browser ada = person("ada@example.org");
};

TEST_F(KeyWithdrawals, APolicyThatDoesNotNameThemAllowsNone) {
    for (const std::string policy : {R"({})", R"({"max_open_rentals":1})",
                                     R"({"per_day_micro":"1000"})", R"({"withdraw":"none"})"}) {
        const std::string key = key_with(policy);
        const auto refused = withdraw(key, "5");
        EXPECT_EQ(refused.status, 403) << policy << refused.body;
        EXPECT_EQ(error_code(refused), "FORBIDDEN");
        EXPECT_NE(error_message(refused).find("withdraw"), std::string::npos);
    }
    EXPECT_EQ(balance(ada), "10000000");
    EXPECT_EQ(withdraw(key_with(""), "5").status, 202) << "a key without a policy is as it was";
}

TEST_F(KeyWithdrawals, WhatItSendsIsCountedWithWhatItHoldsInADay) {
    const std::string key = key_with(R"({"withdraw":"saved","per_day_micro":"1000"})");
    EXPECT_EQ(withdraw(key, "1001").status, 403);
    EXPECT_EQ(withdraw(key, "600").status, 202);
    const auto refused = withdraw(key, "401");
    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_NE(error_message(refused).find("per_day_micro"), std::string::npos);
    EXPECT_EQ(member(town.with_key(key, "GET", "/api/v1/auth/session", "").body,
                     "policy_left.today_micro"),
              "400");
    EXPECT_EQ(withdraw(key, "400").status, 202);
    EXPECT_EQ(town.with_key(key, "POST", "/api/v1/withdrawals", wish("1", "", elsewhere)).status,
              403)
        << "and only to addresses that are saved";
    town.harness.clock.advance(std::chrono::hours(24));
    EXPECT_EQ(withdraw(key, "1000").status, 202);
}

TEST_F(KeyWithdrawals, OfManyAtOnceNoMoreLeavesThanADayHas) {
    const std::string key = key_with(R"({"withdraw":"saved","per_day_micro":"1000"})");
    std::atomic<int> sent = 0;
    std::vector<std::thread> racers;
    for (int i = 0; i < 6; ++i)
        racers.emplace_back([&] { sent += withdraw(key, "300").status == 202; });
    for (std::thread& racer : racers) racer.join();
    EXPECT_EQ(sent, 3);
}

TEST_F(KeyWithdrawals, AnotherWordIsNamed) {
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    const auto refused = post(ada, "/api/v1/account/api-keys",
                              R"({"name":"k","scopes":["renter"],"policy":{"withdraw":"all"}})");
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(error_message(refused).find("body.policy.withdraw"), std::string::npos);
}

// Where money goes is on record.
TEST_F(KeyWithdrawals, SavingAndRemovingAnAddressIsAudited) {
    const AccountId owner = account(ada);
    const auto events = [&](const std::string& action) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>(
                    "SELECT COUNT(*) FROM audit_events e JOIN audit_changes c "
                    "ON c.sequence = e.sequence WHERE e.action = $1 AND e.account_id = $2 "
                    "AND COALESCE(c.before, c.after) = $3",
                    action, owner, std::string(somewhere))
                .value();
        });
    };
    EXPECT_EQ(events("save_address"), 1);
    EXPECT_EQ(events("remove_address"), 0);
    const std::string id =
        member(ada.send("GET", "/api/v1/withdrawal-addresses").body, "items.0.address_id");
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    EXPECT_EQ(
        ada.send("DELETE", "/api/v1/withdrawal-addresses/" + id, "", town.harness.new_id()).status,
        204);
    EXPECT_EQ(events("remove_address"), 1);
}

}  // namespace
}  // namespace berth::test
