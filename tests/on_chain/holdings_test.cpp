// What the treasury holds on chain, against the books; and the operator's own payments that explain
// it.
#include <gtest/gtest.h>

#include <iostream>

#include "chain/json_rpc.hpp"
#include "on_chain/money_town.hpp"
#include "server/treasury_commands.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class Holdings : public ::testing::Test {
protected:
    ledger::Report prove() {
        ledger::CheckOptions options;
        options.witnesses = server::witnesses();
        auto& database = town.town.harness.app->database();
        ledger::Report report = ledger::check_ledger(database, options);
        server::check_holdings(database, treasury, *chain, report);
        return report;
    }
    EvmNode::Mined send_by_hand(const crypto::Address& to, std::int64_t amount) {
        const auto sent = town.node.transfer(*crypto::SigningKey::from_bytes(treasury_secret),
                                             town.node.usdc(), {to, Micro{amount}});
        town.node.finalize();
        return sent;
    }
    void order(const server::TreasuryOrder& order) {
        auto& harness = town.town.harness;
        server::carry_out(server::parse_order(server::to_words(order)).value(),
                          {harness.app->database(), treasury, chain.get(), harness.clock,
                           harness.random, *harness.app->settings().now()});
    }

    MoneyTown town;
    ledger::Treasury treasury{
        treasury_address(), {town.node.usdc(), town.node.usdt()}, true, {cold_address()}};
    http::CurlClient client;
    std::unique_ptr<chain::Chain> chain = std::make_unique<chain::JsonRpcChain>(
        client, chain::JsonRpcChain::Options{.urls = {town.node.url()},
                                             .chain_id = wallets::base_chain_id});
};

TEST_F(Holdings, CoverWhatIsOwedAfterDepositsAndWithdrawals) {
    const Client ada = town.client(1);
    town.look();
    town.fund(ada, 5'000'000);
    EXPECT_EQ(town.post(ada, "/api/v1/withdrawals",
                        R"({"amount_micro":"2000000","address":")" +
                            crypto::checksummed(EvmNode::account(1).address()) + "\"}")
                  .status,
              202);
    town.look();
    town.node.mine();
    // Left, and not booked yet: a shortfall that is on its way out.
    town.node.finalize();
    const auto between = prove();
    EXPECT_TRUE(between.sound()) << to_text(between);
    town.look();
    const auto report = prove();
    EXPECT_TRUE(report.sound()) << to_text(report);
    EXPECT_NE(
        to_text(report).find("the treasury holds 3000000, the books say 3000000 (difference 0"),
        std::string::npos)
        << to_text(report);
    EXPECT_NE(to_text(report).find(": covered"), std::string::npos);
}

TEST_F(Holdings, WhatLeftWithoutABookingIsFoundUntilItIsExplained) {
    const Client ada = town.client(1);
    town.look();
    town.fund(ada, 1000);
    const auto topped_up =
        town.node.transfer(EvmNode::account(2), town.node.usdc(), {treasury_address(), Micro{0}});
    town.node.mint(town.node.usdc(), {EvmNode::account(2).address(), Micro{5000}});
    const auto own =
        town.node.transfer(EvmNode::account(2), town.node.usdc(), {treasury_address(), Micro{500}});
    town.node.finalize();
    town.look();
    const std::string deposit = chain::to_string(own.transaction) + ":0";
    order({.verb = "top-up", .deposit = deposit, .reason = "our own float"});
    EXPECT_TRUE(prove().sound()) << to_text(prove());

    const auto sent = send_by_hand(cold_address(), 300);
    const auto missing = prove();
    EXPECT_FALSE(missing.sound());
    EXPECT_NE(to_text(missing).find("the treasury holds 1200 at block"), std::string::npos)
        << to_text(missing);
    const std::string payment = chain::to_string(sent.transaction);
    order({.verb = "to-cold", .payment = payment, .reason = "the week's surplus"});
    const auto explained = prove();
    EXPECT_TRUE(explained.sound()) << to_text(explained);
    EXPECT_NE(to_text(explained).find("in cold storage 300"), std::string::npos);
    EXPECT_THROW(order({.verb = "gas", .payment = payment, .reason = "once more"}), Problem);
    // What did not come out of a treasury is no payment of ours.
    EXPECT_THROW(order({.verb = "gas",
                        .payment = chain::to_string(topped_up.transaction),
                        .reason = "not ours"}),
                 Problem);
    EXPECT_EQ(town.audit(), "sound");
}

// Who holds the treasury's key sends customers' money away, and who may book calls it cold storage.
TEST_F(Holdings, WhatWentToAForeignAddressIsNotBookedAsColdStorage) {
    const Client ada = town.client(1);
    town.look();
    town.fund(ada, 1000);
    const std::string stolen =
        chain::to_string(send_by_hand(EvmNode::account(6).address(), 800).transaction);
    const server::TreasuryOrder hide{
        .verb = "to-cold", .payment = stolen, .reason = "the week's surplus"};
    EXPECT_THROW(order(hide), Problem);
    treasury.cold.clear();
    EXPECT_THROW(order(hide), Problem) << "without cold storage nothing is put there";
    EXPECT_NE(to_text(prove()).find("NOT COVERED"), std::string::npos);
}

TEST_F(Holdings, ColdStorageCoversWhatItHoldsOnTheChainAndNotWhatWasBooked) {
    const Client ada = town.client(1);
    town.look();
    town.fund(ada, 1000);
    const auto sent = send_by_hand(cold_address(), 800);
    order({.verb = "to-cold",
           .payment = chain::to_string(sent.transaction),
           .reason = "the week's surplus"});
    EXPECT_TRUE(prove().sound()) << to_text(prove());
    treasury.cold.push_back(treasury_address());
    treasury.cold.push_back(cold_address());
    EXPECT_NE(to_text(prove()).find("in cold storage 800, the books say 800"), std::string::npos)
        << "an address is counted once: " << to_text(prove());

    const auto came =
        town.node.transfer(cold_key(), town.node.usdc(), {treasury_address(), Micro{100}});
    const auto other = town.pay(ada, 100);
    town.node.finalize();
    town.look();
    EXPECT_TRUE(prove().sound()) << "on its way back: " << to_text(prove());
    const auto take_back = [&](const EvmNode::Mined& transfer) {
        order({.verb = "from-cold",
               .deposit = chain::to_string(transfer.transaction) + ":0",
               .reason = "for the payouts"});
    };
    EXPECT_THROW(take_back(other), Problem) << "a customer's transfer did not come from there";
    take_back(came);
    EXPECT_TRUE(prove().sound()) << to_text(prove());

    town.node.transfer(cold_key(), town.node.usdc(), {EvmNode::account(6).address(), Micro{700}});
    town.node.finalize();
    const auto robbed = prove();
    EXPECT_FALSE(robbed.sound());
    EXPECT_NE(to_text(robbed).find("NOT COVERED"), std::string::npos) << to_text(robbed);
    EXPECT_NE(to_text(robbed).find("cold_addresses hold 0 at block"), std::string::npos)
        << to_text(robbed);
}

TEST_F(Holdings, WhatAHostOwesCoversNobody) {
    const Client ada = town.client(1);
    const Client bea = town.client(2);
    town.look();
    town.fund(ada, 2'000'000);
    auto& harness = town.town.harness;
    const auto book = [&](const auto& what) {
        harness.app->database().write([&](db::Transaction& tx) {
            what(ledger::Context{tx, harness.random, harness.clock.now()});
        });
    };
    const auto job = JobId::make(harness.clock.now(), harness.random);
    const AccountId renter{parse_uuid(ada.account).value()};
    const AccountId host{parse_uuid(bea.account).value()};
    book([&](ledger::Context context) {
        ledger::hold(context, {job,
                               renter,
                               host,
                               {host.uuid},
                               ledger::Asset::usdc,
                               Micro{2'000'000},
                               Micro{2'000'000},
                               1000});
        ledger::capture(context, job, {Micro{2'000'000}, 3'600'000});
        ledger::release(context, job);
    });
    EXPECT_EQ(town.post(bea, "/api/v1/hosts/payouts",
                        R"({"amount_micro":"1800000","address":")" +
                            crypto::checksummed(EvmNode::account(2).address()) + "\"}")
                  .status,
              202);
    town.look();
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_TRUE(prove().sound()) << to_text(prove());
    book([&](ledger::Context context) {
        ledger::refund(context, {ledger::RefundId::make(harness.clock.now(), harness.random), job,
                                 Micro{2'000'000}, ledger::Bearer::host_debt});
    });
    const auto report = prove();
    EXPECT_FALSE(report.sound());
    EXPECT_NE(to_text(report).find("2000000 is owed, and there is 200000"), std::string::npos)
        << to_text(report);
}

TEST_F(Holdings, SuspenseGoesBackToItsSender) {
    const Client ada = town.client(1);
    town.look();
    const auto came = town.pay(ada, 70);
    town.node.finalize();
    town.look();
    const auto sent = send_by_hand(EvmNode::account(1).address(), 70);
    const server::TreasuryOrder back{.verb = "return",
                                     .deposit = chain::to_string(came.transaction) + ":0",
                                     .payment = chain::to_string(sent.transaction),
                                     .reason = "sent by mistake"};
    order(back);
    EXPECT_THROW(order(back), Problem);
    const auto report = prove();
    EXPECT_TRUE(report.sound()) << to_text(report);
    EXPECT_EQ(report.verified.totals.balance(ledger::Asset::usdc, ledger::Pocket::suspense),
              Micro{});
}

TEST_F(Holdings, AreProvedByTheCommandBesideARunningServer) {
    const Client ada = town.client(1);
    const Client bea = town.client(2);
    town.look();
    town.fund(ada, 7'000'000);
    town.pay(bea, 250);
    town.node.finalize();
    EXPECT_EQ(town.post(ada, "/api/v1/withdrawals",
                        R"({"amount_micro":"3000000","address":")" +
                            crypto::checksummed(EvmNode::account(1).address()) + "\"}")
                  .status,
              202);
    town.look();
    town.node.mine();
    town.node.finalize();
    town.look();
    const auto check =
        run_program({program_path("berthd"), "check", "ledger", "--chain", "--db",
                     town.town.harness.database.url(), "--chain-rpc", town.node.url()});
    std::cout << check.output;
    EXPECT_EQ(check.status, 0) << check.output;
    EXPECT_NE(check.output.find("the treasury holds 4000250, the books say 4000250 (difference 0"),
              std::string::npos);
    send_by_hand(EvmNode::account(7).address(), 1);
    const auto robbed =
        run_program({program_path("berthd"), "check", "ledger", "--chain", "--db",
                     town.town.harness.database.url(), "--chain-rpc", town.node.url()});
    EXPECT_EQ(robbed.status, 1);
    EXPECT_NE(robbed.output.find("NOT COVERED"), std::string::npos) << robbed.output;
}

}  // namespace
}  // namespace berth::test
