// Providers that lie, settlers that race, claims that are bad: none of it costs money.
#include <algorithm>
#include <limits>
#include <thread>

#include "on_chain/settlement.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

TEST_F(Lies, FeesThatNobodyWouldPayAreNotPaid) {
    withdraw(town, ada, 100);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const chain::Fees fees : {chain::Fees{most, 1}, chain::Fees{1, most},
                                   chain::Fees{most, most}, chain::Fees{50'000'000'000, 1}}) {
        lying.fees_said = fees;
        complained = false;
        settle(key);
        EXPECT_TRUE(complained);
        EXPECT_EQ(newest(town, ada), "INTENT");
    }
    lying.fees_said = {};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    // Nor for a replacement.
    lying.fees_said = chain::Fees{most, most};
    settle(key);
    EXPECT_EQ(attempts(town), 1);
}

TEST_F(Lies, ANonceThatLeapsAheadStopsSubmission) {
    withdraw(town, ada, 100);
    settle(key);
    withdraw(town, ada, 100);
    lying.pending_nonce_said = std::int64_t{1} << 40;
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
    lying.pending_nonce_said = {};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
}

TEST_F(Lies, ARevertedReceiptWithoutItsNonceUsedUpGivesNothingBack) {
    withdraw(town, ada, 100);
    settle(key);
    lying.outcome_said = chain::Outcome{chain::Outcome::Status::reverted};
    settle(key);
    EXPECT_EQ(lying.asked, 0) << "nothing is asked about a nonce that is not used up";
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "100");
}

TEST_F(Lies, ASuccessWithoutTheTransferIsLeftForAPerson) {
    withdraw(town, ada, 100);
    settle(key);
    lying.finalized_nonce_said = 1;
    lying.outcome_said = chain::Outcome{chain::Outcome::Status::succeeded};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "100");
}

TEST_F(Lies, AnotherKeyReplacesNothingAndFollowsEverything) {
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 100);
    settle(key);
    const auto other = EvmNode::account(7);
    for (int i = 0; i < 3; ++i) settle(other);
    EXPECT_EQ(attempts(town), 1);
    town.node.mine();
    town.node.finalize();
    settle(other);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{100});
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, TwoSettlersAtOncePayOnce) {
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    for (int i = 0; i < 5; ++i) withdraw(town, ada, 100);
    auto& harness = town.town.harness;
    for (int round = 0; round < 6; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                transfers::Settler({treasury, harness.app->settings(), key, real,
                                    harness.app->database(), harness.clock, harness.random})
                    .run();
            });
        for (auto& thread : threads) thread.join();
        town.node.mine();
        harness.clock.advance(std::chrono::seconds(10));
    }
    EXPECT_EQ(attempts(town), 5);
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{500});
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, OneThatCannotBeReadKeepsNobodyElseWaiting) {
    withdraw(town, ada, 100);
    settle(key);
    const auto first = *chain::parse_hash(newest(town, ada, "tx_hash"));
    withdraw(town, ada, 200);
    lying.fails_for = {first};
    settle(key, std::chrono::seconds(5));
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(member(town.get(ada, "/api/v1/withdrawals").body, "items.1.state"), "SUBMITTED");
}

// What a round asks does not grow with what is on its way, and new ones leave before it.
TEST_F(Lies, ManyOnTheirWayCostOneQuestionAndHoldUpNobody) {
    for (int i = 0; i < 60; ++i) withdraw(town, ada, 100);
    settle(key);
    EXPECT_EQ(attempts(town), 60);
    EXPECT_EQ(lying.sent, 1) << "one batch";
    withdraw(town, ada, 100);
    lying.standings = lying.asked = lying.sent = 0;
    settle(key, std::chrono::seconds(5));
    EXPECT_EQ(attempts(town), 61);
    EXPECT_EQ(lying.standings, 1);
    EXPECT_EQ(lying.asked, 0) << "none of them is final";
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(lying.asked, 1) << "the receipts of all of them";
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(town.audit(), "sound");
}

// A hundred tiny transfers of one account, and one of another: the other one leaves with the first.
TEST_F(Lies, AnAccountWithManyTransfersHoldsUpNobodyElse) {
    const Client bob = town.client(2);
    town.fund(bob, 1000);
    for (int i = 0; i < 10; ++i) withdraw(town, ada, 1);
    withdraw(town, bob, 1000);
    const auto order = town.town.harness.app->database().read(
        [](db::Transaction& tx) { return transfers::find_intents(tx, 3); });
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(to_string(order[0].account_id), ada.account);
    EXPECT_EQ(to_string(order[1].account_id), bob.account);
    EXPECT_EQ(to_string(order[2].account_id), ada.account);
}

TEST_F(Lies, NothingIsSignedWithoutTokensAndGas) {
    withdraw(town, ada, 400'000);
    lying.gas_said = 1000;
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT") << "no gas";
    EXPECT_EQ(untold(town.town.harness.app->database(), {"operations.treasury_short"}), "");
    lying.gas_said = {};
    lying.tokens_said = Micro{399'999};
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT") << "no tokens";
    EXPECT_EQ(attempts(town), 0);
    // What is on its way counts as gone.
    lying.tokens_said = Micro{700'000};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    withdraw(town, ada, 400'000);
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
}

TEST_F(Lies, AFeeThatIsRefusedIsRaisedWithinTheCap) {
    withdraw(town, ada, 100);
    lying.sent_said = chain::Sent{chain::Sent::Status::underpriced, "transaction underpriced"};
    settle(key);
    EXPECT_EQ(attempts(town), 1);
    settle(key);
    EXPECT_EQ(attempts(town), 2) << "next in line, and its fee was refused";
    lying.sent_said = {};
    settle(key);
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    withdraw(town, ada, 100);
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "no"};
    const std::int64_t before = attempts(town);
    for (int i = 0; i < 3; ++i) settle(key);
    EXPECT_EQ(attempts(town), before + 1) << "another refusal is no reason to pay more";
    lying.sent_said = chain::Sent{chain::Sent::Status::underpriced, "transaction underpriced"};
    town.town.harness.set("money.gas_fee_max_gwei", "4");
    for (int i = 0; i < 25; ++i) settle(key);
    const auto paid = town.town.harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT MAX(fee_max) FROM transfer_attempts")[0].get<std::int64_t>(0);
    });
    EXPECT_LE(paid, 4'000'000'000);
}

TEST_F(Lies, FiguresTellWhatIsOpenWhatIsThereAndWhatWasRefused) {
    auto& harness = town.town.harness;
    withdraw(town, ada, 100);
    harness.clock.advance(std::chrono::seconds(90));
    lying.tokens_said = Micro{777'777};
    lying.gas_said = 2'000'000'000'000'000'000;
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "no"};
    const auto vitals = std::make_shared<transfers::SettlerVitals>();
    try {
        transfers::Settler({treasury, harness.app->settings(), key, lying, harness.app->database(),
                            harness.clock, harness.random},
                           vitals)
            .run();
    } catch (const chain::ProviderError&) {
    }
    EXPECT_EQ(vitals->oldest_open_seconds, 90);
    EXPECT_EQ(vitals->holdings_micro[0], 777'777);
    EXPECT_EQ(vitals->gas_gwei, 2'000'000'000);
    EXPECT_EQ(vitals->sends_refused, 1);
}

TEST_F(Lies, WhatNobodyHasSeenIsSentAgainLaterAndLater) {
    withdraw(town, ada, 100);
    lying.sent_said = chain::Sent{chain::Sent::Status::taken};
    settle(key, std::chrono::seconds(0));
    EXPECT_EQ(lying.sent, 1);
    for (int i = 0; i < 17; ++i) settle(key, std::chrono::seconds(5));
    EXPECT_EQ(lying.sent, 4) << "after 10, 30 and 70 seconds";
    EXPECT_EQ(attempts(town), 1) << "and nothing else was signed for it";
}

TEST_F(Lies, ATransferWithoutSignedBytesIsToldAndStopsNothing) {
    withdraw(town, ada, 100);
    withdraw(town, ada, 200);
    settle(key);
    town.town.harness.app->database().write([](db::Transaction& tx) {
        tx.run("DELETE FROM transfer_attempts WHERE nonce = 0");
        tx.run("UPDATE transfers SET attempts = 0 WHERE nonce = 0");
    });
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(member(town.get(ada, "/api/v1/withdrawals").body, "items.1.state"), "SUBMITTED");
}

TEST_F(Lies, TheSettlerThatLosesAReplacementChangesNothing) {
    withdraw(town, ada, 100);
    settle(key);
    auto& database = town.town.harness.app->database();
    const std::string hash = newest(town, ada, "tx_hash");
    const auto again = database.read([](db::Transaction& tx) {
        return transfers::find_in_flight(tx, {treasury_address(), 0, 1}, 1).at(0);
    });
    transfers::AttemptRow late = again.attempts.at(0);
    late.tx_hash = chain::parse_hash("0x" + std::string(64, '7')).value();
    const bool added =
        database.write([&](db::Transaction& tx) { return transfers::add_attempt(tx, late, {}); });
    EXPECT_FALSE(added);
    EXPECT_EQ(newest(town, ada, "tx_hash"), hash);
    EXPECT_EQ(attempts(town), 1);
}

TEST_F(Lies, ATransferOfASuspendedAccountWaits) {
    withdraw(town, ada, 100);
    town.town.suspend(ada.account);
    settle(key);
    EXPECT_EQ(attempts(town), 0);
    town.town.suspend(ada.account, false);
    settle(key);
    EXPECT_EQ(attempts(town), 1);
}

// A payment names its row on the chain for ever.
TEST_F(Lies, APaymentCarriesTheIdOfItsTransfer) {
    withdraw(town, ada, 100);
    settle(key);
    town.node.mine();
    const auto original = real.original(*chain::parse_hash(newest(town, ada, "tx_hash")));
    ASSERT_TRUE(original);
    const auto call = chain::payment_in(original->data);
    ASSERT_TRUE(call && call->reference);
    EXPECT_EQ(to_string(uuid_from_bytes(*call->reference).value()), newest(town, ada, "id"));
}

TEST_F(Lies, BadClaimsDoNotStopTheOthersNorTheDeposits) {
    watch();
    std::vector<EvmNode::Mined> bad;
    for (int i = 0; i < 4; ++i) {
        const std::string intent = town.intent(ada, 10 + i);
        bad.push_back(town.pay(ada, 10 + i));
        EXPECT_EQ(member(town.claim(ada, intent, bad.back()).body, "state"), "PENDING");
        lying.fails_for.push_back(bad.back().transaction);
    }
    const std::string good = town.intent(ada, 77);
    const auto transfer = town.pay(ada, 77);
    EXPECT_EQ(member(town.claim(ada, good, transfer).body, "state"), "PENDING");
    town.node.finalize();
    for (int i = 0; i < 3; ++i) watch();
    EXPECT_TRUE(complained);
    EXPECT_EQ(town.state(ada, good), "CONFIRMED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, ARangeThatIsTooLargeIsReadInParts) {
    watch();
    town.pay(ada, 31);
    town.node.mine(40);
    town.pay(ada, 32);
    town.node.finalize();
    lying.range_max = 8;
    for (int i = 0; i < 12; ++i) watch();
    const auto parked = town.town.harness.app->database().read(
        [](db::Transaction& tx) { return funding::list_unclaimed(tx, {}, {}, 10); });
    EXPECT_EQ(parked.size(), 2U);
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, WhatIsOlderThanTheServiceIsNotCredited) {
    const auto old = town.pay(ada, 55);
    town.node.mine(5);
    watch();
    const std::string intent = town.intent(ada, 55);
    EXPECT_EQ(member(town.claim(ada, intent, old).body, "state"), "EXCEPTION");
    EXPECT_EQ(town.balance(ada), "1000000");
}

// A look that ends early has not looked at the rest: that is where the next one begins.
TEST_F(Lies, AClaimIsMarkedAsLookedAtOnlyAfterItWas) {
    watch();
    auto& harness = town.town.harness;
    harness.set("money.open_intents_max", "1000");
    EvmNode::Mined none;
    none.log_index = 0;
    for (std::int64_t i = 0; i <= funding::claims_together_max; ++i) {
        none.transaction.bytes.fill(static_cast<char>(i + 1));
        const auto answer = town.claim(ada, town.intent(ada, 61), none);
        ASSERT_EQ(member(answer.body, "state"), "PENDING") << answer.body;
        harness.clock.advance(std::chrono::seconds(1));
    }
    std::vector<std::vector<chain::Hash>> questions;
    lying.on_outcomes = [&](const std::vector<chain::Hash>& hashes) {
        questions.push_back(hashes);
        harness.clock.advance(std::chrono::minutes(2));  // the patience of one look
    };
    watch();
    watch();
    ASSERT_EQ(questions.size(), 2U);
    EXPECT_EQ(std::ranges::count(questions[0], none.transaction), 0);
    EXPECT_EQ(questions[1].front(), none.transaction);
}

// One that cannot be asked about goes on being asked about, and is not the first of every look.
TEST_F(Lies, ClaimsPastTheirEndKeepNobodyElseWaiting) {
    watch();
    auto& harness = town.town.harness;
    std::vector<chain::Hash> bad;
    for (const char fill : {'\x01', '\x02'}) {
        EvmNode::Mined none;
        none.log_index = 0;
        none.transaction.bytes.fill(fill);
        EXPECT_EQ(member(town.claim(ada, town.intent(ada, 61), none).body, "state"), "PENDING");
        bad.push_back(none.transaction);
    }
    harness.clock.advance(funding::claim_window + std::chrono::hours(48));
    town.node.set_next_block_time(harness.clock.now());
    const std::string good = town.intent(ada, 77);
    const auto transfer = town.pay(ada, 77);
    EXPECT_EQ(member(town.claim(ada, good, transfer).body, "state"), "PENDING");
    town.node.finalize();
    lying.on_outcomes = [&](const std::vector<chain::Hash>& hashes) {
        for (const chain::Hash& hash : hashes)
            if (std::ranges::find(bad, hash) != bad.end())
                throw chain::ProviderError("no answer to that");
    };
    for (int i = 0; i < 2; ++i) watch();
    EXPECT_EQ(town.state(ada, good), "CONFIRMED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, AClaimThatIsDisputedUntilItsEndIsForgotten) {
    watch();
    auto& harness = town.town.harness;
    EvmNode::Mined none;
    none.log_index = 0;
    none.transaction.bytes.fill('\x01');
    EXPECT_EQ(member(town.claim(ada, town.intent(ada, 61), none).body, "state"), "PENDING");
    lying.fails_for.push_back(none.transaction);
    const auto pending = [&] {
        return harness.app->database().read([&](db::Transaction& tx) {
            return funding::find_pending_claims(tx, harness.clock.now() + funding::claim_window, 10)
                .size();
        });
    };
    watch();
    EXPECT_EQ(pending(), 1U);
    harness.clock.advance(funding::claim_window + std::chrono::hours(48));
    watch();
    EXPECT_EQ(pending(), 0U);
}

TEST_F(Lies, ADepositThatWasTamperedWithIsFound) {
    ASSERT_EQ(town.audit(), "sound");
    town.town.harness.app->database().write([](db::Transaction& tx) {
        tx.run("UPDATE deposits SET state = 'SUSPENSE', intent_id = NULL, account_id = NULL");
    });
    EXPECT_NE(town.audit().find("was not claimed, and is not in the ledger like that"),
              std::string::npos);
    EXPECT_NE(town.audit().find("is confirmed without a deposit"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
