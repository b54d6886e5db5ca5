// Addresses that are blocked pay nothing in and are paid nothing, whatever was under way.
#include "block_list/block_list.hpp"
#include "on_chain/settlement.hpp"

namespace berth::test {
namespace {

std::string text_of(const Client& client) { return crypto::checksummed(address_of(client.wallet)); }

struct BlockedOnChain : Settlement {
    void block(const Client& client) {
        const auto done =
            root.send("POST", "/api/v1/admin/blocked-addresses",
                      R"({"address":")" + text_of(client) + R"(","reason":"named by a court"})",
                      town.town.harness.new_id());
        EXPECT_EQ(done.status, 201) << done.body;
    }
    void unblock(const Client& client) {
        const auto done = root.send(
            "DELETE",
            "/api/v1/admin/blocked-addresses/" + text_of(client) + "?reason=lifted%20again", "",
            town.town.harness.new_id());
        EXPECT_EQ(done.status, 200) << done.body;
        EXPECT_EQ(member(done.body, "still_blocked"), "false");
    }
    http::Response post(const std::string& path, const std::string& body) {
        return root.send("POST", "/api/v1/admin/" + path, body, town.town.harness.new_id());
    }

    MoneyTown town;
    Client ada = town.client(1);
    Client bob = town.client(2);
    Browser root = town.admin("root@example.org");
};

TEST_F(BlockedOnChain, NothingIsCreditedThatABlockedAddressSent) {
    const std::string intent = town.intent(ada, 1000);
    const auto paid = town.pay(ada, 1000);
    town.node.finalize();
    block(ada);
    const auto refused = town.claim(ada, intent, paid);
    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_EQ(error_code(refused), "FORBIDDEN");
    EXPECT_EQ(town.state(ada, intent), "OPEN");
    EXPECT_EQ(town.post(ada, "/api/v1/funding-intents",
                        R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"5"})")
                  .status,
              403)
        << "nor is it told where to pay";
    town.look();
    EXPECT_EQ(town.balance(ada), "0");
    const std::string waiting = root.send("GET", "/api/v1/admin/suspense").body;
    const std::string deposit = member(waiting, "items.0.deposit_id");
    ASSERT_EQ(member(waiting, "items.0.from"), text_of(ada)) << waiting;
    EXPECT_EQ(post("suspense/" + deposit + "/match",
                   R"({"account_id":")" + bob.account +
                       R"(","reason":"says it is his","evidence":["ticket 1"]})")
                  .status,
              409);
    EXPECT_EQ(post("suspense/" + deposit + "/return", R"({"reason":"back to its sender"})").status,
              409);
    EXPECT_EQ(town.balance(bob), "0");
    const auto kept =
        post("treasury/movements",
             R"({"kind":"top_up","asset":"USDC","amount_micro":"1000","reason":"our own",)"
             R"("tx_hash":")" +
                 chain::to_string(paid.transaction) + "\"}");
    EXPECT_EQ(kept.status, 409) << "nor is it the platform's: " << kept.body;
    EXPECT_NE(error_message(kept).find("block list"), std::string::npos) << kept.body;
    unblock(ada);
    EXPECT_EQ(member(town.claim(ada, intent, paid).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(BlockedOnChain, AClaimThatWaitedIsNotCreditedEither) {
    const std::string intent = town.intent(ada, 1000);
    const auto paid = town.pay(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, intent, paid).body, "state"), "PENDING");
    block(ada);
    town.node.finalize();
    town.look();
    town.look();
    EXPECT_EQ(town.balance(ada), "0");
    EXPECT_EQ(town.state(ada, intent), "OPEN");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(BlockedOnChain, WhatWasAskedForBeforeIsNotSignedAndMayBeCalledOff) {
    town.fund(ada, 1000);
    withdraw(town, ada, 400);
    block(ada);
    town.look();
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, ada, "waits_for"), "settlement_hold");
    EXPECT_EQ(attempts(town), 0);
    EXPECT_EQ(town.post(ada, "/api/v1/withdrawals",
                        R"({"address":")" + text_of(ada) + R"(","amount_micro":"5"})")
                  .status,
              403);
    // Others are paid meanwhile.
    town.fund(bob, 1000);
    withdraw(town, bob, 300);
    town.look();
    EXPECT_EQ(newest(town, bob), "SUBMITTED");
    unblock(ada);
    town.look();
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(town.audit(), "sound");
}

struct BlockedLate : Lies {};

TEST_F(BlockedLate, WhoIsBlockedBetweenChoosingAndSigningIsNotPaid) {
    withdraw(town, ada, 400);
    auto& harness = town.town.harness;
    lying.before_signing = [&] {
        harness.app->database().write([&](db::Transaction& tx) {
            block_list::block(tx, {.address = address_of(ada.wallet),
                                   .source = block_list::Source::operator_,
                                   .reason = "just now",
                                   .blocked_at = harness.clock.now()});
        });
    };
    settle(key);
    EXPECT_EQ(attempts(town), 0);
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, ada, "waits_for"), "settlement_hold");
}

}  // namespace
}  // namespace berth::test
