// What operators hold back stays unsigned, and leaves when they let it.
#include <gtest/gtest.h>

#include "on_chain/money_town.hpp"

namespace berth::test {
namespace {

struct Brakes : ::testing::Test {
    Brakes() { town.node.mint(town.node.usdc(), {treasury_address(), Micro{1'000'000'000}}); }

    http::Response withdraw(const Client& client, std::int64_t amount) {
        town.town.harness.clock.advance(std::chrono::milliseconds(2));  // ids go by the clock
        auto answer = town.post(client, "/api/v1/withdrawals",
                                R"({"address":")" +
                                    crypto::checksummed(EvmNode::account(client.wallet).address()) +
                                    R"(","amount_micro":")" + std::to_string(amount) + "\"}");
        EXPECT_EQ(answer.status, 202) << answer.body;
        return answer;
    }
    // Of all withdrawals, oldest first.
    std::string states() {
        return database().read([](db::Transaction& tx) {
            const auto rows = tx.run("SELECT state FROM transfers ORDER BY transfer_id");
            std::string all;
            for (std::size_t i = 0; i < rows.size(); ++i)
                all += (i > 0 ? " " : "") + rows[i].get<std::string>(0);
            return all;
        });
    }
    void settle() {
        town.node.mine();
        town.node.finalize();
        town.look();
    }
    void set(const std::string& key, const std::string& value) {
        town.town.harness.set("money." + key, value);
    }
    db::Database& database() { return town.town.harness.app->database(); }

    MoneyTown town;
};

TEST_F(Brakes, NothingIsSignedWhilePayoutsArePaused) {
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    withdraw(ada, 400);
    town.look();
    ASSERT_EQ(states(), "SUBMITTED");
    set("payouts_paused", "true");
    withdraw(ada, 100);
    settle();
    EXPECT_EQ(states(), "SETTLED INTENT") << "what was signed goes on, what was not waits";
    EXPECT_EQ(town.balance(ada, "pending_micro"), "100");
    set("payouts_paused", "false");
    town.look();
    EXPECT_EQ(states(), "SETTLED SUBMITTED");
    settle();
    EXPECT_EQ(states(), "SETTLED SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Brakes, AnAccountGetsADaysWorthAndTheRestTheNextDay) {
    const Client ada = town.client(1);
    const Client bob = town.client(2);
    town.fund(ada, 5000);
    town.fund(bob, 5000);
    set("payouts_account_day_max_micro", "1000");
    withdraw(ada, 600);
    withdraw(ada, 401);
    withdraw(ada, 400);
    withdraw(bob, 1000);
    town.look();
    EXPECT_EQ(states(), "SUBMITTED INTENT SUBMITTED SUBMITTED")
        << "what does not fit waits, and holds up nobody";
    settle();
    EXPECT_EQ(states(), "SETTLED INTENT SETTLED SETTLED") << "what is settled still counts";
    town.town.harness.clock.advance(std::chrono::hours(23));
    town.look();
    EXPECT_EQ(states(), "SETTLED INTENT SETTLED SETTLED");
    town.town.harness.clock.advance(std::chrono::hours(1));
    town.look();
    EXPECT_EQ(states(), "SETTLED SUBMITTED SETTLED SETTLED");
}

TEST_F(Brakes, AllAccountsTogetherGetADaysWorth) {
    const Client ada = town.client(1);
    const Client bob = town.client(2);
    town.fund(ada, 5000);
    town.fund(bob, 5000);
    town.town.harness.clock.advance(std::chrono::hours(25));  // what came in today may leave
    set("payouts_day_max_micro", "1000");
    withdraw(ada, 700);
    withdraw(bob, 301);
    withdraw(bob, 300);
    town.look();
    EXPECT_EQ(states(), "SUBMITTED INTENT SUBMITTED");
    settle();
    town.look();
    EXPECT_EQ(states(), "SETTLED INTENT SETTLED");
    town.town.harness.clock.advance(std::chrono::hours(24));
    town.look();
    EXPECT_EQ(states(), "SETTLED SUBMITTED SETTLED");
}

TEST_F(Brakes, ATransferThatFailedCountsForNoDay) {
    const Client ada = town.client(1);
    town.fund(ada, 2000);
    set("payouts_account_day_max_micro", "1000");
    const crypto::Address wallet = EvmNode::account(1).address();
    withdraw(ada, 1000);
    town.look();
    const std::string hash = member(town.get(ada, "/api/v1/withdrawals").body, "items.0.tx_hash");
    town.node.forget(*chain::parse_hash(hash));
    town.node.set_barred(town.node.usdc(), wallet, true);  // after it was tried and signed
    town.look();
    settle();
    ASSERT_EQ(states(), "FAILED");
    town.node.set_barred(town.node.usdc(), wallet, false);
    withdraw(ada, 1000);
    town.look();
    EXPECT_EQ(states(), "FAILED SUBMITTED");
}

// A person, whose session may be stolen; an agent's wallet is the agent itself.
TEST_F(Brakes, ANewlySavedAddressCoolsOffAndAnAgentsWalletDoesNot) {
    set("address_cooling_hours", "24");
    const std::string email = "eve@example.org";
    const std::string address = crypto::checksummed(EvmNode::account(5).address());
    Browser eve = town.town.person(email);
    auto& harness = town.town.harness;
    const AccountId account{
        parse_uuid(member(eve.send("GET", "/api/v1/auth/session").body, "account_id")).value()};
    database().write([&](db::Transaction& tx) {
        ledger::deposit({tx, harness.random, harness.clock.now()},
                        {account, ledger::Asset::usdc, Micro{1000}, "for eve"});
    });
    const std::string wish = R"({"address":")" + address + R"(","amount_micro":"1000")";
    const auto code =
        eve.send("POST", "/api/v1/withdrawals/code", wish + R"(,"kind":"withdrawal"})");
    ASSERT_EQ(code.status, 202) << code.body;
    const auto asked =
        eve.send("POST", "/api/v1/withdrawals",
                 wish + R"(,"code":")" + town.town.code_to(email) + "\"}", harness.new_id());
    ASSERT_EQ(asked.status, 202) << asked.body;
    const auto link = town.town.link_to(email);
    const auto confirmed = harness.ask({.method = "POST",
                                        .target = "/api/v1/confirmations" + link.path.substr(8),
                                        .body = R"({"token":")" + link.token + "\"}"});
    ASSERT_EQ(confirmed.status, 200) << confirmed.body;
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    withdraw(ada, 500);
    town.look();
    EXPECT_EQ(states(), "INTENT SUBMITTED");
    harness.clock.advance(std::chrono::hours(23));
    town.look();
    EXPECT_EQ(states().substr(0, 6), "INTENT");
    harness.clock.advance(std::chrono::hours(1));
    town.look();
    EXPECT_EQ(states().substr(0, 9), "SUBMITTED");
}

// As many as a round has room for, and more.
TEST_F(Brakes, WhatIsHeldBackKeepsNobodyElseWaiting) {
    const Client ada = town.client(1);
    const Client bob = town.client(2);
    town.fund(ada, 1'000'000);
    town.fund(bob, 1000);
    auto& harness = town.town.harness;
    database().write([&](db::Transaction& tx) {
        for (std::int64_t i = 0; i < transfers::unmined_max; ++i) {
            transfers::TransferRow row;
            row.transfer_id = transfers::TransferId::make(harness.clock.now(), harness.random);
            row.account_id = AccountId::make(harness.clock.now(), harness.random);  // nobody's
            row.amount = Micro{1};
            row.address = EvmNode::account(3).address();
            row.address_id = transfers::AddressId::make(harness.clock.now(), harness.random);
            row.state = transfers::TransferState::INTENT;
            row.created_at = harness.clock.now();
            transfers::add_transfer(tx, row);
        }
    });
    withdraw(bob, 1000);
    town.look();
    EXPECT_EQ(member(town.get(bob, "/api/v1/withdrawals").body, "items.0.state"), "SUBMITTED");
}

}  // namespace
}  // namespace berth::test
