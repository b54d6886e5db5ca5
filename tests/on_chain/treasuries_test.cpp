// Which transfers are ours: those to every treasury that was ever named, from where its history
// begins, and those that an intent foresaw whatever we could see at the time.
#include <gtest/gtest.h>

#include "on_chain/money_town.hpp"

namespace berth::test {
namespace {

std::vector<funding::UnclaimedRow> suspense(MoneyTown& town) {
    return town.town.harness.app->database().read(
        [](db::Transaction& tx) { return funding::list_unclaimed(tx, {}, {}, 10); });
}

// As if the service had been set to this one before.
void use_treasury(MoneyTown& town, const crypto::Address& treasury) {
    town.town.harness.app->database().write([&](db::Transaction& tx) {
        funding::watch(tx, {treasury, town.node.usdc(), ledger::Asset::usdc});
    });
}

EvmNode::Mined pay_to(MoneyTown& town, const Client& client, const crypto::Address& to,
                      std::int64_t amount) {
    return town.node.transfer(EvmNode::account(client.wallet), town.node.usdc(),
                              {to, Micro{amount}});
}

TEST(Treasuries, ATransferThatWasMadeBeforeAnybodyCouldLookIsCredited) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string claimed = town.intent(ada, 1000);
    town.intent(ada, 2000);
    const auto transfer = town.pay(ada, 1000);
    town.pay(ada, 2000);
    town.node.finalize();
    town.node.finalize();
    // Only now the chain is in reach for the first time.
    town.look();
    ASSERT_EQ(suspense(town).size(), 2U) << "what the intents foresaw is not history";
    EXPECT_EQ(member(town.claim(ada, claimed, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(suspense(town).size(), 1U);
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Treasuries, WhatNoIntentForesawIsBoundedByTheFirstLook) {
    MoneyTown town;
    const Client ada = town.client(1);
    const auto old = town.pay(ada, 1000);
    town.town.harness.clock.advance(std::chrono::hours(2));
    town.node.finalize();
    town.node.finalize();
    const std::string early = town.intent(ada, 1000);
    EXPECT_EQ(town.claim(ada, early, old).status, 503) << "nobody has looked yet";
    EXPECT_EQ(town.post(ada, "/api/v1/funding-intents/" + early + "/cancel", "").status, 200);
    town.look();
    const std::string intent = town.intent(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, intent, old).body, "state"), "EXCEPTION");
    EXPECT_EQ(member(town.get(ada, "/api/v1/funding-intents/" + intent).body, "exception"),
              "the transfer is older than this service");
    EXPECT_TRUE(suspense(town).empty());
    EXPECT_EQ(town.balance(ada), "0");
}

TEST(Treasuries, AnEarlierTreasuryIsStillWatchedAndClaimsOnItAreHonoured) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.look();
    const crypto::Address earlier = EvmNode::account(5).address();
    use_treasury(town, earlier);
    town.look();
    const auto transfer = pay_to(town, ada, earlier, 1000);
    pay_to(town, ada, earlier, 50);
    pay_to(town, ada, EvmNode::account(6).address(), 60);
    town.node.finalize();
    town.look();
    ASSERT_EQ(suspense(town).size(), 2U);
    EXPECT_EQ(suspense(town)[0].deposit.treasury, earlier);
    const std::string intent = town.intent(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Treasuries, ATransferFromOneOfOursToAnotherIsNoDeposit) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.look();
    use_treasury(town, EvmNode::account(1).address());
    town.pay(ada, 1000);
    town.node.finalize();
    town.look();
    EXPECT_TRUE(suspense(town).empty());
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Treasuries, ACancelledIntentFreesItsTransferForAnother) {
    MoneyTown town;
    const Client ada = town.client(1);
    const Client eve = town.client(2);
    const std::string intent = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    const std::string cancel = "/api/v1/funding-intents/" + intent + "/cancel";
    EXPECT_EQ(town.post(eve, cancel, "").status, 404);
    const std::string key = town.town.harness.new_id();
    const auto cancelled = town.post(ada, cancel, "", key);
    EXPECT_EQ(cancelled.status, 200) << cancelled.body;
    EXPECT_EQ(member(cancelled.body, "state"), "CANCELLED");
    EXPECT_EQ(town.post(ada, cancel, "", key).body, cancelled.body);
    EXPECT_EQ(member(town.post(ada, cancel, "").body, "state"), "CANCELLED");
    town.node.finalize();
    town.look();
    EXPECT_EQ(town.state(ada, intent), "CANCELLED") << "its pending claim went with it";
    EXPECT_EQ(town.claim(ada, intent, transfer).status, 409);
    const std::string other = town.intent(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, other, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.post(ada, "/api/v1/funding-intents/" + other + "/cancel", "").status, 409);
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.audit(), "sound");
}

}  // namespace
}  // namespace berth::test
