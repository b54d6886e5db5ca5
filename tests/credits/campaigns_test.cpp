// Campaigns: paid from the operator's own money, capped in all and for each account, and nobody is
// given a credit who did not redeem one.
#include <atomic>
#include <thread>

#include "credits/campaigns.hpp"

namespace berth::test {
namespace {

TEST_F(Campaigns, ArePaidFromCapitalAndCappedInAllAndForEachAccount) {
    EXPECT_EQ(error_code(begin("LAUNCH-1", 1000, 400)), "CONFLICT") << "there is no capital";
    put_in(1000);
    pay_in(ada, 7);
    const auto begun = begin("Launch-1", 1000, 400);
    ASSERT_EQ(begun.status, 201) << begun.body;
    EXPECT_EQ(capital(), Micro{}) << "it is set aside at once";
    EXPECT_EQ(error_code(begin("LAUNCH-1", 1, 1)), "CONFLICT");
    const auto credit = redeem(ada, "launch-1");
    ASSERT_EQ(credit.status, 201) << credit.body;
    EXPECT_EQ(member(credit.body, "remaining_micro"), "400");
    EXPECT_EQ(error_code(redeem(ada, "LAUNCH-1")), "CONFLICT") << "once";
    EXPECT_EQ(error_code(redeem(ada, "NO-SUCH")), "NOT_FOUND");
    EXPECT_EQ(error_code(redeem(root, "LAUNCH-1")), "FORBIDDEN") << "operators gain nothing";
    const std::string shown = ada.send("GET", "/api/v1/billing").body;
    EXPECT_EQ(member(shown, "credit_micro"), "400");
    EXPECT_EQ(member(shown, "withdrawable_micro"), "7") << "it is no balance";
    EXPECT_EQ(member(shown, "spendable_micro"), "7");
    Browser bob = town.person("bob@example.org");
    Browser cyd = town.person("cyd@example.org");
    for (Browser* const one : {&bob, &cyd}) pay_in(*one, 1);
    EXPECT_EQ(redeem(bob, "LAUNCH-1").status, 201);
    EXPECT_EQ(error_code(redeem(cyd, "LAUNCH-1")), "CONFLICT") << "200 are left, and 400 a credit";
    const std::string path = "campaigns/" + member(begun.body, "campaign_id") + "/close";
    const auto closed = post(root, path, R"({"reason":"it is over"})");
    ASSERT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(member(closed.body, "returned_micro"), "200");
    EXPECT_EQ(capital(), Micro{200});
    EXPECT_EQ(error_code(post(root, path, R"({"reason":"it is over"})")), "CONFLICT");
    EXPECT_EQ(error_code(redeem(cyd, "LAUNCH-1")), "CONFLICT");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/billing/credits").body, "items.0.remaining_micro"),
              "400")
        << "what was redeemed stays good";
}

// Accounts that cost nothing are as many as somebody wants.
TEST_F(Campaigns, AreForPeopleWhoHavePaidSomethingIn) {
    put_in(1000);
    ASSERT_EQ(begin("LAUNCH-1", 1000, 100).status, 201);
    EXPECT_EQ(redeem(ada, "LAUNCH-1").status, 403);
    EXPECT_EQ(redeem(ada, "NO-SUCH-CODE").status, 403) << "it is not told which codes there are";
    pay_in(ada, 1);
    EXPECT_EQ(redeem(ada, "LAUNCH-1").status, 201);

    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const std::string agent = town.enlist(wallet, R"(["renter"])").body;
    const AccountId owner{parse_uuid(member(agent, "account_id")).value()};
    book([&](ledger::Context context) {
        ledger::deposit(context, {owner, ledger::Asset::usdc, Micro{1}, "agent"});
    });
    const auto refused = town.harness.ask({.method = "POST",
                                           .target = "/api/v1/billing/credits",
                                           .as = member(agent, "api_key.secret"),
                                           .key = town.harness.new_id(),
                                           .body = R"({"code":"LAUNCH-1"})"});
    EXPECT_EQ(refused.status, 403) << refused.body;
}

TEST_F(Campaigns, AreNotOverspentByManyAtOnce) {
    put_in(1000);
    ASSERT_EQ(begin("LAUNCH-1", 1000, 300).status, 201);
    std::vector<std::string> keys;
    for (int i = 0; i < 6; ++i) {
        Browser one = town.person("p" + std::to_string(i) + "@example.org");
        pay_in(one, 1);
        keys.push_back(town.key_of(one));
    }
    std::atomic<int> granted = 0;
    std::vector<std::thread> racers;
    std::vector<std::string> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(town.harness.new_id());
    for (std::size_t i = 0; i < keys.size(); ++i)
        racers.emplace_back([&, i] {
            granted += town.harness
                           .ask({.method = "POST",
                                 .target = "/api/v1/billing/credits",
                                 .as = keys[i],
                                 .key = ids[i],
                                 .body = R"({"code":"LAUNCH-1"})"})
                           .status == 201;
        });
    for (std::thread& racer : racers) racer.join();
    EXPECT_EQ(granted, 3);
}

TEST_F(Campaigns, LetCreditsExpireBackIntoTheCapital) {
    put_in(1000);
    pay_in(ada, 1);
    ASSERT_EQ(begin("LAUNCH-1", 1000, 400).status, 201);
    ASSERT_EQ(redeem(ada, "LAUNCH-1").status, 201);
    town.harness.clock.advance(std::chrono::hours(24 * 10 + 1));
    town.run_tasks();
    EXPECT_EQ(capital(), Micro{400});
    Browser later = town.person("ada@example.org");
    EXPECT_EQ(member(later.send("GET", "/api/v1/billing").body, "credit_micro"), "0");
    EXPECT_EQ(error_code(redeem(later, "LAUNCH-1")), "CONFLICT") << "redeemed, and too late";
}

// A campaign that one account can use up, by a code that nobody else knows, is a gift.
struct WatchedCampaigns : Campaigns {
    WatchedCampaigns() : Campaigns({.flags = {{"four-eyes", "on"}}}) {}
};

TEST_F(WatchedCampaigns, WaitForASecondAdminHoweverSmall) {
    put_in(1000);
    Browser eve = admin("eve@example.org");
    const auto asked = begin("LAUNCH-1", 10, 10);
    ASSERT_EQ(asked.status, 202) << asked.body;
    EXPECT_EQ(capital(), Micro{1000});
    const auto confirmed =
        post(eve, "pending-actions/" + member(asked.body, "pending_action_id") + "/confirm",
             R"({"reason":"it is announced"})");
    EXPECT_LT(confirmed.status, 300) << confirmed.body;
    EXPECT_EQ(capital(), Micro{990});
    EXPECT_EQ(member(get(root, "campaigns"), "items.0.code"), "LAUNCH-1");
    town.harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM audit_changes WHERE field = "
                                               "'code' AND after = 'LAUNCH-1'"),
                  1);
    });
}

TEST_F(Campaigns, AreRefusedWhereTheyMakeNoSense) {
    put_in(1000);
    EXPECT_EQ(begin("LAUNCH 1", 1000, 400).status, 422) << "a blank";
    EXPECT_EQ(begin("SHORT", 1000, 400).status, 422);
    EXPECT_EQ(begin("LAUNCH-1", 100, 400).status, 422);
    EXPECT_EQ(begin("LAUNCH-1", 0, 0).status, 422);
    EXPECT_EQ(post(ada, "campaigns", "{}").status, 403);
    EXPECT_EQ(capital(), Micro{1000});
}

}  // namespace
}  // namespace berth::test
