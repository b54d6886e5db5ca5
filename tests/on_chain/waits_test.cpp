// Transfers that wait say why and until when, and hide nobody who is late.
#include "on_chain/settlement.hpp"

namespace berth::test {
namespace {

struct Waits : Lies {
    Waits() {
        // What came in is a day old: only what leaves counts.
        town.town.harness.clock.advance(std::chrono::hours(25));
        town.look();  // the node's clock stays behind: what is paid in now looks old to the claim
    }
    std::string id_of(const http::Response& asked) { return member(asked.body, "withdrawal_id"); }
    http::Response ask(std::int64_t amount) {
        town.town.harness.clock.advance(std::chrono::milliseconds(2));  // ids go by the clock
        return town.post(ada, "/api/v1/withdrawals",
                         R"({"address":")" + crypto::checksummed(address_of(ada.wallet)) +
                             R"(","amount_micro":")" + std::to_string(amount) + "\"}");
    }
    void set(const std::string& name, const std::string& value) {
        town.town.harness.set("money." + name, value);
    }
    // Of the newest: why, and until when.
    std::string told() {
        return newest(town, ada, "waits_for") + " " + newest(town, ada, "waits_until");
    }
    void run(Duration later = std::chrono::seconds(100)) {
        auto& harness = town.town.harness;
        harness.clock.advance(later);
        transfers::Settler({treasury, harness.app->settings(), key, lying, harness.app->database(),
                            harness.clock, harness.random},
                           vitals)
            .run();
    }

    std::shared_ptr<transfers::SettlerVitals> vitals = std::make_shared<transfers::SettlerVitals>();
};

TEST_F(Waits, ATransferAboveTheCapOfADayIsRefusedWhenItIsAskedFor) {
    set("payouts_account_day_max_micro", "1000");
    const auto refused = ask(1001);
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_NE(refused.body.find("at most 1000"), std::string::npos) << refused.body;
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    set("payouts_day_max_micro", "500");
    EXPECT_EQ(ask(501).status, 409) << "nor above that of all";
    EXPECT_EQ(ask(500).status, 202);
}

TEST_F(Waits, ACapTellsWhenEnoughOfItIsFreeAgain) {
    set("payouts_account_day_max_micro", "1000");
    ask(600);
    run();
    const std::string frees = to_rfc3339(town.town.harness.clock.now() + std::chrono::hours(24));
    EXPECT_EQ(told(), "chain null") << "it was signed";
    run(std::chrono::hours(1));
    ASSERT_EQ(ask(401).status, 202);
    run();
    EXPECT_EQ(told(), "account_cap " + frees);
    set("payouts_account_day_max_micro", "2000");
    set("payouts_day_max_micro", "1000");
    EXPECT_EQ(told(), "day_cap null");
    set("payouts_day_max_micro", "2000");
    EXPECT_EQ(told(), "null null") << "it leaves with the next round";
    set("payouts_paused", "true");
    EXPECT_EQ(told(), "payouts_paused null");
    town.town.harness.app->database().write([&](db::Transaction& tx) {
        transfers::add_hold({tx, town.town.harness.random, town.town.harness.clock.now()}, "look");
    });
    EXPECT_EQ(told(), "settlement_hold null");
}

TEST_F(Waits, ATreasuryWithoutGasOrTokensSaysSo) {
    ask(100);
    lying.gas_said = 0;
    run();
    EXPECT_EQ(told(), "gas null");
    lying.gas_said = std::nullopt;
    lying.tokens_said = Micro{99};
    run();
    EXPECT_EQ(told(), "settlement_hold null");
    lying.tokens_said = std::nullopt;
    run();
    EXPECT_EQ(told(), "chain null");
    town.node.mine();
    town.node.finalize();
    run();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(told(), "null null");
}

TEST_F(Waits, ALoweredCapStrandsNothingSilently) {
    set("payouts_paused", "true");
    ask(900);
    set("payouts_account_day_max_micro", "500");
    set("payouts_paused", "false");
    run();
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(told(), "account_cap null") << "for ever, as the cap is";
    EXPECT_EQ(vitals->stranded, 1);
    set("payouts_account_day_max_micro", "900");
    run();
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(vitals->stranded, 0);
}

TEST_F(Waits, WhatABrakeHoldsBackDoesNotHideOneThatIsLate) {
    set("payouts_account_day_max_micro", "1000");
    ask(1000);
    run();
    ask(500);  // waits for tomorrow
    run(std::chrono::hours(2));
    EXPECT_EQ(vitals->oldest_open_seconds, 7200 + 100) << "the signed one is not in a block";
    town.node.mine();
    town.node.finalize();
    run();
    run(std::chrono::hours(3));
    EXPECT_EQ(vitals->oldest_open_seconds, 0) << "the other one waits as it should";
    lying.gas_said = 0;
    const Client bob = town.client(2);
    town.fund(bob, 1000);
    withdraw(town, bob, 100);
    run(std::chrono::minutes(90));
    EXPECT_EQ(vitals->oldest_open_seconds, 5400) << "and hides nobody behind it";
}

// Ten accounts and the same money: it comes in and goes out, and comes in again.
TEST_F(Waits, MoneyThatIsSentRoundUsesUpNobodyElsesShare) {
    set("payouts_day_max_micro", "1000");
    const Client eve = town.client(2);
    for (int i = 0; i < 3; ++i) {
        town.fund(eve, 1000);
        withdraw(town, eve, 1000);
        run();
        EXPECT_EQ(newest(town, eve), "SUBMITTED") << "what came in may leave";
        town.node.mine();
        town.node.finalize();
        run();
    }
    ASSERT_EQ(ask(900).status, 202);
    run();
    EXPECT_EQ(newest(town, ada), "SUBMITTED") << "the others have their day's worth";
    ASSERT_EQ(ask(101).status, 202);
    run();
    EXPECT_EQ(told(), "day_cap null") << "and no more than that";
}

// Anybody can say that a transfer was made, hundreds of times.
TEST_F(Waits, MadeUpClaimsDoNotKeepARealOneWaiting) {
    watch();
    set("open_intents_max", "1000");
    constexpr int many = 150;
    for (int i = 0; i < many; ++i) {
        EvmNode::Mined none;
        none.transaction.bytes.fill(static_cast<char>(i + 1));
        none.log_index = 0;
        const std::string intent = town.intent(ada, 10);
        EXPECT_EQ(member(town.claim(ada, intent, none).body, "state"), "PENDING");
    }
    const std::string good = town.intent(ada, 77);
    const auto transfer = town.pay(ada, 77);
    EXPECT_EQ(member(town.claim(ada, good, transfer).body, "state"), "PENDING");
    town.node.finalize();
    lying.asked = 0;
    watch();
    EXPECT_EQ(town.state(ada, good), "CONFIRMED") << "at the first look";
    EXPECT_LE(lying.asked, 2) << "a hundred with each question";
    std::size_t looked_at = 0;
    lying.on_outcomes = [&](const std::vector<chain::Hash>& hashes) { looked_at += hashes.size(); };
    town.town.harness.clock.advance(std::chrono::hours(2));
    watch();
    EXPECT_EQ(looked_at, static_cast<std::size_t>(many));
    watch();
    EXPECT_EQ(looked_at, static_cast<std::size_t>(many)) << "less often the older they are";
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Waits, IntentsThatNobodyUsedGoLongAfterTheirEnd) {
    const std::string unused = town.intent(ada, 10);
    auto& harness = town.town.harness;
    const auto prune = [&] {
        return harness.app->database().write([&](db::Transaction& tx) {
            return funding::prune_intents(tx, harness.clock.now(), 10);
        });
    };
    harness.clock.advance(std::chrono::hours(24 * 8));
    EXPECT_EQ(prune(), 0) << "a transfer that was made in time can still be claimed";
    harness.clock.advance(std::chrono::hours(24 * 24));
    EXPECT_EQ(prune(), 1) << "what was confirmed stays";
    EXPECT_EQ(town.get(ada, "/api/v1/funding-intents/" + unused).status, 404);
    EXPECT_EQ(town.audit(), "sound");
}

}  // namespace
}  // namespace berth::test
