// What of a transaction a person is shown before it is claimed, and the claim that waits.
#include <gtest/gtest.h>

#include "funding/funding.hpp"
#include "on_chain/money_town.hpp"

namespace berth::test {
namespace {

struct SeenOnChain : ::testing::Test {
    static http::Response look(MoneyTown& town, const Client& client, const std::string& intent,
                               const std::string& hash) {
        return town.get(client, "/api/v1/funding-intents/" + intent + "/transfers?tx_hash=" + hash);
    }
    static std::string name(const EvmNode::Mined& mined) {
        return chain::to_string(mined.transaction);
    }
};

TEST_F(SeenOnChain, TheLogIndexIsFoundByTheTransactionAlone) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    const auto early = look(town, ada, intent, name(transfer));
    ASSERT_EQ(early.status, 200) << early.body;
    EXPECT_EQ(member(early.body, "state"), "included");
    EXPECT_EQ(member(early.body, "tx_hash"), name(transfer));
    EXPECT_NE(member(early.body, "block_number"), "null");
    EXPECT_GE(std::stoll(member(early.body, "confirmations")), 1);
    EXPECT_EQ(member(early.body, "items.0.log_index"), std::to_string(transfer.log_index));
    EXPECT_EQ(member(early.body, "items.0.asset"), "USDC");
    EXPECT_EQ(member(early.body, "items.0.amount_micro"), "1000");
    EXPECT_EQ(member(early.body, "items.0.to"), crypto::checksummed(treasury_address()));
    EXPECT_EQ(member(early.body, "items.0.matches"), "true") << early.body;
    EXPECT_EQ(member(early.body, "items.0.why"), "");
    EXPECT_EQ(member(early.body, "items.1.log_index"), "");
    EXPECT_EQ(town.state(ada, intent), "OPEN") << "nothing is claimed";

    town.node.finalize();
    EXPECT_EQ(member(look(town, ada, intent, name(transfer)).body, "state"), "final");
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    const auto after = look(town, ada, town.intent(ada, 1000), name(transfer)).body;
    EXPECT_EQ(member(after, "items.0.matches"), "false");
    EXPECT_EQ(member(after, "items.0.why"),
              "this transfer was used already, or is being sent back");
}

TEST_F(SeenOnChain, WhatDoesNotMatchSaysWhy) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 1000);
    const auto less = look(town, ada, intent, name(town.pay(ada, 999))).body;
    EXPECT_EQ(member(less, "items.0.matches"), "false");
    EXPECT_EQ(member(less, "items.0.why"), "the transfer has another amount than the intent");
    town.intent(ada, 5, "?asset=USDT");  // watched from now on
    const auto usdt = town.node.transfer(EvmNode::account(1), town.node.usdt(),
                                         {treasury_address(), Micro{1000}});
    const auto other = look(town, ada, intent, name(usdt)).body;
    EXPECT_EQ(member(other, "items.0.asset"), "USDT");
    EXPECT_EQ(member(other, "items.0.why"), "the transfer is of another token");
    const auto elsewhere_sent = town.node.transfer(EvmNode::account(1), town.node.usdc(),
                                                   {EvmNode::account(2).address(), Micro{1000}});
    EXPECT_EQ(member(look(town, ada, intent, name(elsewhere_sent)).body, "items"), "[]");
    const auto unknown = look(town, ada, intent, "0x" + std::string(64, '7')).body;
    EXPECT_EQ(member(unknown, "state"), "unseen");
    EXPECT_EQ(member(unknown, "block_number"), "null");
    EXPECT_EQ(member(unknown, "items"), "[]");
}

TEST_F(SeenOnChain, AStrangersTransferTellsNothingOfAccounts) {
    MoneyTown town;
    const Client ada = town.client(1);
    const Client eve = town.client(2);
    const std::string adas = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    town.node.finalize();
    const std::string eves = town.intent(eve, 1000);
    const std::string stranger = "the sender of this transfer is no wallet of your account";
    const auto before = look(town, eve, eves, name(transfer)).body;
    EXPECT_EQ(member(before, "items.0.matches"), "false");
    EXPECT_EQ(member(before, "items.0.why"), stranger);
    ASSERT_EQ(member(town.claim(ada, adas, transfer).body, "state"), "CONFIRMED");
    const auto after = look(town, eve, eves, name(transfer)).body;
    EXPECT_EQ(after, before) << "whether somebody claimed it is not told";
    EXPECT_EQ(after.find(ada.account), std::string::npos);
    EXPECT_EQ(look(town, eve, adas, name(transfer)).status, 404) << "somebody else's intent";
}

TEST_F(SeenOnChain, BadInputIsToldByItsMember) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 5);
    for (const char* bad : {"0x12", "", "0xzz"}) {
        const auto refused = look(town, ada, intent, bad);
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(error_message(refused).find("query.tx_hash"), std::string::npos);
    }
    EXPECT_EQ(town.get(ada, "/api/v1/funding-intents/" + intent + "/transfers").status, 422);
}

TEST_F(SeenOnChain, TheClaimThatWaitsIsShownWithItsConfirmations) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 1000);
    const std::string path = "/api/v1/funding-intents/" + intent;
    const std::string open = town.get(ada, path).body;
    EXPECT_EQ(member(open, "pending_claim"), "");
    EXPECT_EQ(member(open, "network.chain_id"), "8453");
    EXPECT_EQ(member(open, "network.token_address"), crypto::checksummed(town.node.usdc()));
    EXPECT_EQ(member(open, "network.explorer_url"), "https://basescan.org");
    const auto transfer = town.pay(ada, 1000);
    ASSERT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    const std::string waits = town.get(ada, path).body;
    EXPECT_EQ(member(waits, "pending_claim.tx_hash"), name(transfer));
    EXPECT_EQ(member(waits, "pending_claim.log_index"), std::to_string(transfer.log_index));
    EXPECT_GE(std::stoll(member(waits, "pending_claim.confirmations")), 1) << waits;
    EXPECT_GE(std::stoll(member(waits, "pending_claim.needed")),
              std::stoll(member(waits, "pending_claim.confirmations")));
    EXPECT_NE(member(waits, "pending_claim.block_number"), "");
    town.node.finalize();
    town.look();
    const std::string done = town.get(ada, path).body;
    EXPECT_EQ(member(done, "state"), "CONFIRMED");
    EXPECT_EQ(member(done, "pending_claim"), "");
}

TEST_F(SeenOnChain, AChainThatIsAwayShowsNoTransfersAndHidesNoIntent) {
    MoneyTown town(std::make_unique<EvmNode>());
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    ASSERT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    town.node.stop();
    const auto away = look(town, ada, intent, name(transfer));
    EXPECT_EQ(away.status, 503) << away.body;
    EXPECT_EQ(error_code(away), "UNAVAILABLE");
    const auto shown = town.get(ada, "/api/v1/funding-intents/" + intent);
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(member(shown.body, "pending_claim.tx_hash"), name(transfer));
    EXPECT_EQ(member(shown.body, "pending_claim.block_number"), "");

    town.node.start();
    const auto block = [&] {
        return member(town.get(ada, "/api/v1/funding-intents/" + intent).body,
                      "pending_claim.block_number");
    };
    EXPECT_EQ(block(), "") << "nobody waits again at once for a chain that did not answer";
    town.town.harness.clock.advance(funding::chain_rests);
    EXPECT_NE(block(), "");
}

}  // namespace
}  // namespace berth::test
