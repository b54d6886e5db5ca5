// Campaigns: paid from the operator's own money, capped in all and for each account, and nobody is
// given a credit who did not redeem one.
#include <atomic>
#include <thread>

#include "admin/office.hpp"
#include "credits/credits.hpp"
#include "ledger/check.hpp"

namespace berth::test {
namespace {

struct Campaigns : Office {
    void put_in(std::int64_t amount) {
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::park(context, {{}, ledger::Asset::usdc, Micro{amount}, reference});
            ledger::move_own(
                context, {ledger::Movement::top_up, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    http::Response begin(const std::string& code, int total, int per_account) {
        return post(root, "campaigns",
                    R"({"code":")" + code + R"(","name":"Launch","total_micro":")" +
                        std::to_string(total) + R"(","per_account_micro":")" +
                        std::to_string(per_account) + R"(","credit_days":10,"redeem_until":")" +
                        to_rfc3339(town.harness.clock.now() + std::chrono::hours(48)) +
                        R"(","reason":"the launch"})");
    }
    http::Response redeem(Browser& who, const std::string& code) {
        return who.send("POST", "/api/v1/billing/credits", R"({"code":")" + code + "\"}",
                        town.harness.new_id());
    }
    Micro capital() {
        return town.harness.app->database().read(
            [&](db::Transaction& tx) { return ledger::means(tx, ledger::Asset::usdc).capital; });
    }
    void TearDown() override {
        const credits::CreditWitness witness;
        ledger::CheckOptions options;
        options.witnesses = {&witness};
        town.harness.app->database().read([&](db::Transaction& tx) {
            const auto report = ledger::check_ledger(tx, options);
            EXPECT_TRUE(report.sound()) << ledger::to_text(report);
        });
    }
};

TEST_F(Campaigns, ArePaidFromCapitalAndCappedInAllAndForEachAccount) {
    EXPECT_EQ(error_code(begin("LAUNCH-1", 1000, 400)), "CONFLICT") << "there is no capital";
    put_in(1000);
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
    EXPECT_EQ(member(shown, "withdrawable_micro"), "0") << "it is no balance";
    EXPECT_EQ(member(shown, "spendable_micro"), "0");
    Browser bob = town.person("bob@example.org");
    Browser cyd = town.person("cyd@example.org");
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

TEST_F(Campaigns, AreNotOverspentByManyAtOnce) {
    put_in(1000);
    ASSERT_EQ(begin("LAUNCH-1", 1000, 300).status, 201);
    std::vector<std::string> keys;
    for (int i = 0; i < 6; ++i) {
        Browser one = town.person("p" + std::to_string(i) + "@example.org");
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
    ASSERT_EQ(begin("LAUNCH-1", 1000, 400).status, 201);
    ASSERT_EQ(redeem(ada, "LAUNCH-1").status, 201);
    town.harness.clock.advance(std::chrono::hours(24 * 10 + 1));
    town.run_tasks();
    EXPECT_EQ(capital(), Micro{400});
    Browser later = town.person("ada@example.org");
    EXPECT_EQ(member(later.send("GET", "/api/v1/billing").body, "credit_micro"), "0");
    EXPECT_EQ(error_code(redeem(later, "LAUNCH-1")), "CONFLICT") << "redeemed, and too late";
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
