// Payments that were made after the backup which the books are from: whoever got them pays for
// them, and nobody else.
#include <gtest/gtest.h>

#include "on_chain/behind.hpp"
#include "transfers/adopt.hpp"
#include "treasury/treasury.hpp"

namespace berth::test {
namespace {

struct SqliteOnlyAdoption : SqliteOnlyDrill {
    // Ten were paid in; four of them were withdrawn after the backup that is restored.
    void lose_a_withdrawal() {
        town.look();
        first_block = chain.finalized_block();
        ASSERT_EQ(server::back_up(given(), copy()), 0);
        lost = withdraw(4'000'000);
        settle();
        ASSERT_EQ(state(lost), "SETTLED");
        paid = held();
        restore();
    }
    http::Response ask(std::int64_t amount) {
        return town.post(ada, "/api/v1/withdrawals",
                         R"({"address":")" + crypto::checksummed(address_of(ada.wallet)) +
                             R"(","amount_micro":")" + std::to_string(amount) + "\"}");
    }
    server::ReconcileOptions adoption(const Client& whose) {
        return {.apply = true,
                .from_block = first_block,
                .adopt = 0,
                .account = whose.account,
                .why = "it was withdrawn after the backup"};
    }
    ledger::Balances balances() {
        return database().read([&](db::Transaction& tx) {
            return ledger::balances(tx, {parse_uuid(ada.account).value()}, ledger::Asset::usdc);
        });
    }

    std::int64_t first_block = 0;
    std::string lost;
    Micro paid;
};

TEST_F(SqliteOnlyAdoption, AnAccountThatGotAPaymentPaysForItAndCannotAskForItAgain) {
    lose_a_withdrawal();
    resume();
    const std::string again = withdraw(10'000'000);  // all of it: nobody has looked yet
    town.stop();
    EXPECT_EQ(server::reconcile_chain(given(), {}), 1) << "told";
    resume();
    const auto refused = ask(1'000'000);
    EXPECT_EQ(refused.status, 503) << "whoever owns a paid address waits: " << refused.body;
    town.stop();
    EXPECT_THROW(server::reconcile_chain(given(), {.apply = true}), std::exception)
        << "nobody has said what it was";

    server::ReconcileOptions options = adoption(ada);
    options.apply = false;
    EXPECT_EQ(server::reconcile_chain(given(), options), 1) << "told, and nothing changed";
    EXPECT_EQ(server::reconcile_chain(given(), adoption(ada)), 0);
    EXPECT_THROW(server::reconcile_chain(given(), adoption(ada)), std::exception) << "only once";
    resume();
    EXPECT_EQ(state(lost), "SETTLED") << "it is there again, under its own name";
    EXPECT_EQ(state(again), "CANCELLED") << "it asked for the same money";
    EXPECT_EQ(town.balance(ada), "6000000");
    EXPECT_EQ(town.audit(), "sound");
    const std::string next = withdraw(6'000'000);
    settle();
    EXPECT_EQ(state(next), "INTENT") << "held until all is decided";
    town.stop();
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0) << "nothing is left to explain";
    resume();
    settle();
    EXPECT_EQ(state(next), "SETTLED");
    EXPECT_EQ(held(), paid + Micro{6'000'000}) << "ten came in, ten went out";
    EXPECT_EQ(town.audit(), "sound");
}

// All ten were paid a second time before anybody knew: four of them are a debt.
TEST_F(SqliteOnlyAdoption, WhatTheBalanceDoesNotCoverIsAnAdvanceOnEarnings) {
    // What others have there, which is what a payment too many is made of.
    town.node.mint(town.node.usdc(), {treasury_address(), Micro{20'000'000}});
    lose_a_withdrawal();
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true, .foreign_why = "I do not know"}), 0);
    resume();
    const std::string again = withdraw(9'000'000);
    settle();
    ASSERT_EQ(state(again), "SETTLED");
    town.stop();
    EXPECT_EQ(server::reconcile_chain(given(), adoption(ada)), 0) << "what was called foreign, too";
    resume();
    const ledger::Balances has = balances();
    EXPECT_EQ(has.available, Micro{}) << "one was left";
    EXPECT_EQ(has.payable, Micro{-3'000'000}) << "the one pocket that may be below zero";
    EXPECT_EQ(has.reserved, Micro{});
    EXPECT_EQ(has.requested(), Micro{}) << "nothing is on its way";
    EXPECT_EQ(town.audit(), "sound");
    town.earn(ada, 5'000'000);
    EXPECT_EQ(balances().payable, Micro{1'500'000}) << "what is earned makes it up";
    EXPECT_EQ(town.audit(), "sound");
    settle();
    EXPECT_EQ(town.town.harness.ask({.target = "/readyz"}).body.find(R"("settler":"failed")"),
              std::string::npos)
        << "a late word holds nothing up";
}

TEST_F(SqliteOnlyAdoption, OnlyAPaymentThatIsThereIsAdoptedByAnAccountThatIsThere) {
    lose_a_withdrawal();
    server::ReconcileOptions wrong = adoption(ada);
    wrong.adopt = 7;
    EXPECT_THROW(server::reconcile_chain(given(), wrong), std::exception);
    wrong = adoption(ada);
    wrong.account = to_string(Uuid{});
    EXPECT_THROW(server::reconcile_chain(given(), wrong), std::exception);
    wrong.account = "ada";
    EXPECT_THROW(server::reconcile_chain(given(), wrong), std::exception);
    wrong = adoption(ada);
    wrong.why = "no";
    EXPECT_THROW(server::reconcile_chain(given(), wrong), std::exception) << "it wants a reason";
    wrong = adoption(ada);
    wrong.of = crypto::checksummed(address_of(5));
    EXPECT_THROW(server::reconcile_chain(given(), wrong), std::exception);
    resume();
    EXPECT_EQ(town.balance(ada), "10000000");
    EXPECT_EQ(town.audit(), "sound");
}

// A transfer that the backup has, and that was paid since, is not called off for one it has not.
TEST_F(SqliteOnlyAdoption, ATransferThatWasPaidTooIsNotCalledOff) {
    const std::string kept = withdraw(8'000'000);
    first_block = chain.finalized_block();
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    settle();
    ASSERT_EQ(state(kept), "SETTLED");
    lost = withdraw(2'000'000);
    settle();
    ASSERT_EQ(state(lost), "SETTLED");
    paid = held();
    restore();
    server::ReconcileOptions options = adoption(ada);
    options.adopt = 1;
    EXPECT_EQ(server::reconcile_chain(given(), options), 0);
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0);
    resume();
    settle();
    EXPECT_EQ(state(kept), "SETTLED");
    EXPECT_EQ(state(lost), "SETTLED");
    EXPECT_EQ(town.balance(ada), "0");
    EXPECT_EQ(held(), paid);
    EXPECT_EQ(town.audit(), "sound");
}

// Whoever has the treasury's key could otherwise pay himself, and say whose money it was.
TEST_F(SqliteOnlyAdoption, AnAccountThatDoesNotOwnTheAddressBearsNothingWithoutEvidence) {
    const Client eve = town.client(2);
    lose_a_withdrawal();
    EXPECT_THROW(server::reconcile_chain(given(), adoption(eve)), std::exception);
    server::ReconcileOptions options = adoption(eve);
    options.apply = false;
    EXPECT_THROW(server::reconcile_chain(given(), options), std::exception);
    resume();
    EXPECT_EQ(state(lost), "gone");
    town.stop();
    options.apply = true;
    options.evidence = {"her letter: it is my second wallet"};
    EXPECT_EQ(server::reconcile_chain(given(), options), 0);
    resume();
    EXPECT_EQ(state(lost), "SETTLED");
    EXPECT_EQ(town.balance(ada), "10000000");
    EXPECT_EQ(town.audit(), "sound");
}

// It may pay a transfer that waits in the books, which the adoption would call off.
TEST_F(SqliteOnlyAdoption, NothingIsAdoptedWhileATreasuryIsMoving) {
    lose_a_withdrawal();
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.submit(key, town.node.usdc(), {address_of(5), Micro{1}});
    EXPECT_THROW(server::reconcile_chain(given(), adoption(ada)), std::exception);
    town.node.mine();
    EXPECT_THROW(server::reconcile_chain(given(), adoption(ada)), std::exception);
    town.node.finalize();
    EXPECT_EQ(server::reconcile_chain(given(), adoption(ada)), 0);
    resume();
    EXPECT_EQ(state(lost), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

// Two were paid after the backup, and the operator looks only at where the second one is.
TEST_F(SqliteOnlyAdoption, ALaterPaymentHidesNoEarlierOne) {
    town.look();
    first_block = chain.finalized_block();
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    const std::string earlier = withdraw(3'000'000);
    settle();
    const std::int64_t second_block = chain.finalized_block() + 1;
    lost = withdraw(4'000'000);
    settle();
    restore();
    server::ReconcileOptions second = adoption(ada);
    second.adopt = 1;
    second.from_block = second_block;
    EXPECT_THROW(server::reconcile_chain(given(), second), std::exception)
        << "the first one was neither booked nor found";
    second.from_block = first_block;
    EXPECT_EQ(server::reconcile_chain(given(), second), 0);
    EXPECT_THROW(server::reconcile_chain(given(), {.apply = true, .from_block = second_block}),
                 std::exception)
        << "the first one is still to be explained, wherever one begins to look";
    EXPECT_EQ(server::reconcile_chain(given(), adoption(ada)), 0);
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0);
    resume();
    EXPECT_EQ(state(earlier), "SETTLED");
    EXPECT_EQ(state(lost), "SETTLED");
    EXPECT_EQ(town.balance(ada), "3000000");
    EXPECT_EQ(town.audit(), "sound");
}

// The books know where they end: a look that begins later passes nothing over.
TEST_F(SqliteOnlyAdoption, ALookBeginsWhereTheBooksEnd) {
    withdraw(1'000'000);
    settle();
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    const std::string earlier = withdraw(3'000'000);
    settle();
    first_block = chain.finalized_block() + 1;
    lost = withdraw(4'000'000);
    settle();
    restore();
    server::ReconcileOptions second = adoption(ada);
    second.adopt = 2;
    EXPECT_EQ(server::reconcile_chain(given(), second), 0);
    EXPECT_THROW(server::reconcile_chain(given(), {.apply = true, .from_block = first_block}),
                 std::exception)
        << "the one between is still to be explained";
    server::ReconcileOptions between = adoption(ada);
    between.adopt = 1;
    EXPECT_EQ(server::reconcile_chain(given(), between), 0);
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0);
    resume();
    EXPECT_EQ(state(earlier), "SETTLED");
    EXPECT_EQ(state(lost), "SETTLED");
    EXPECT_EQ(town.balance(ada), "2000000");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(SqliteOnlyAdoption, WhatWasPaidBeforeIsNotOfTodaysCap) {
    lose_a_withdrawal();
    resume();
    auto& harness = town.town.harness;
    harness.clock.advance(std::chrono::hours(48));
    const transfers::Reconciler reconciler({treasury, chain, database()});
    const auto found = reconciler.examine({treasury_address()}, first_block);
    const auto payment = reconciler.find_payment(found, 0, std::nullopt);
    const AccountId account{parse_uuid(ada.account).value()};
    database().write([&](db::Transaction& tx) {
        treasury::adopt({tx, harness.random, harness.clock.now()}, treasury,
                        {.payment = payment.payment,
                         .account = account,
                         .paid_at = payment.paid_at,
                         .after_block = payment.after_block},
                        {audit::Actor::local_operator(), "withdrawn after the backup"});
    });
    EXPECT_EQ(state(lost), "SETTLED");
    const Time yesterday = harness.clock.now() - std::chrono::hours(24);
    database().read([&](db::Transaction& tx) {
        EXPECT_EQ(transfers::sum_signed(tx, account, yesterday), Micro{});
        EXPECT_EQ(transfers::sum_signed(tx, account, Time{}), Micro{4'000'000});
    });
}

// What went back to another address than its sender's, after the backup.
TEST_F(SqliteOnlyAdoption, AReturnToAnotherAddressIsBookedWithEvidence) {
    const std::string deposit = pay_in();
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    const std::string elsewhere = crypto::checksummed(address_of(8));
    ASSERT_EQ(order({.verb = "return",
                     .deposit = deposit,
                     .address = elsewhere,
                     .evidence = {"the sender's letter"}})
                  .substr(0, 6),
              "booked");
    settle();
    const std::string returned = returned_by();
    restore();
    resume();
    server::TreasuryOrder booking{.verb = "return", .deposit = deposit, .payment = returned};
    EXPECT_EQ(order(booking), "CONFLICT") << "it went to somebody else, and nothing says why";
    booking.evidence = {"the sender's letter"};
    booking.address = crypto::checksummed(address_of(9));
    EXPECT_EQ(order(booking), "INVALID_INPUT") << "it did not go there";
    booking.address = elsewhere;
    EXPECT_EQ(order(booking).substr(0, 6), "booked");
    town.stop();
    server::ReconcileOptions again = adoption(ada);
    again.evidence = {"she says so"};
    EXPECT_THROW(server::reconcile_chain(given(), again), std::exception)
        << "it is booked, and not a second time";
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true, .foreign_why = "went back"}), 0);
    resume();
    settle();
    EXPECT_EQ(town.audit(), "sound");
}

}  // namespace
}  // namespace berth::test
