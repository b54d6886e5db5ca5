// Books from before a change of treasury: what the earlier one paid must not be paid again.
#include <gtest/gtest.h>

#include "chain/transaction.hpp"
#include "on_chain/behind.hpp"

namespace berth::test {
namespace {

struct SqliteOnlyRotation : SqliteOnlyDrill {
    // What is lifted by hand, as by an operator who knows better.
    void lift_holds() {
        database().write([&](db::Transaction& tx) {
            transfers::end_holds(tx, town.town.harness.clock.now(), "it is fine");
        });
    }
    bool is_held() { return database().read(transfers::find_hold).has_value(); }
};

TEST_F(SqliteOnlyRotation, ARestoreFromBeforeAChangeOfTreasuryPaysNothingTwice) {
    const std::string id = withdraw(1'000'000);
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    settle();
    ASSERT_EQ(state(id), "SETTLED");
    const Micro paid = held();
    restore();
    rotate('\x22');
    EXPECT_EQ(server::reconcile_chain(given(), {}), 1) << "the earlier one is ahead of the books";
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0);
    EXPECT_EQ(server::reconcile_chain(given(), {}), 0) << "they agree";
    resume();
    EXPECT_EQ(state(id), "SUBMITTED") << "the earlier treasury's payment was adopted";
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(held(), paid) << "paid once";
    EXPECT_EQ(town.audit(), "sound");
    const std::string next = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(next), "SETTLED");
    EXPECT_EQ(held(), paid + Micro{1'000'000});
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(SqliteOnlyRotation, NothingIsSignedWhileAnEarlierTreasuryIsAheadEvenWithoutAHold) {
    const std::string id = withdraw(1'000'000);
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    settle();
    const Micro paid = held();
    restore();
    rotate('\x22');
    resume();
    lift_holds();
    for (int i = 0; i < 3; ++i) settle();
    EXPECT_EQ(state(id), "INTENT");
    EXPECT_EQ(held(), paid) << "paid once";
    EXPECT_TRUE(is_held()) << "nobody cancels it meanwhile";
}

// The treasury was changed twice since the backup: the one in between is in no book.
TEST_F(SqliteOnlyRotation, ATreasuryThatTheBooksDoNotKnowIsNamedByTheOperator) {
    const std::string id = withdraw(1'000'000);
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    town.stop();
    const crypto::Address between = rotate('\x22');
    town.start();
    settle();
    ASSERT_EQ(state(id), "SETTLED");
    const Micro paid = held();
    restore();
    rotate('\x33');
    const std::string also = crypto::checksummed(between);
    EXPECT_THROW(server::reconcile_chain(given(), {.also = {"0x12"}}), std::exception);
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true, .also = {also}}), 0);
    resume();
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(held(), paid) << "paid once";
    EXPECT_EQ(town.audit(), "sound");
}

// The key was changed because it was stolen: the thief can go on sending with it for ever.
TEST_F(SqliteOnlyRotation, AThiefOfAnEarlierKeyStopsPaymentsOnlyUntilItIsRetired) {
    settle();
    town.stop();
    rotate('\x22');
    town.start();
    const auto thief = *crypto::SigningKey::from_bytes(treasury_secret);
    const auto spend = [&] {
        town.node.transfer(thief, town.node.usdc(), {address_of(5), Micro{1}});
        town.node.finalize();
    };
    spend();
    const std::string id = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(id), "INTENT") << "the earlier treasury is ahead of the books";
    town.stop();
    const std::string stolen = crypto::checksummed(treasury_address());
    server::RetireOptions options{.treasury = stolen, .why = "its key was stolen"};
    EXPECT_EQ(server::retire_treasury(given(), options), 1) << "told, and nothing changed";
    options.apply = true;
    EXPECT_THROW(server::retire_treasury(given(), options), std::exception)
        << "nobody has said what it paid";
    options.foreign_why = "the thief had it";
    town.node.submit(thief, town.node.usdc(), {address_of(5), Micro{1}});
    EXPECT_THROW(server::retire_treasury(given(), options), std::exception)
        << "something of it is not final";
    options.while_moving = true;
    EXPECT_EQ(server::retire_treasury(given(), options), 0) << "the thief could go on for ever";
    EXPECT_THROW(server::retire_treasury(given(), options), std::exception) << "only once";
    options.treasury = "0x12";
    EXPECT_THROW(server::retire_treasury(given(), options), std::exception);
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0);
    town.start();
    spend();
    settle();
    EXPECT_EQ(state(id), "SETTLED") << "what the thief sends is none of ours";
    EXPECT_EQ(town.audit(), "sound");
    // Nobody signs with it again, whatever --secrets has.
    town.stop();
    rotate(treasury_secret.front());
    town.start();
    const std::string later = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(later), "INTENT");
}

// What the earlier treasury sent is in a block, and not final: it may pay a transfer that waits.
TEST_F(SqliteOnlyRotation, ATreasuryThatIsMovingIsNotRetiredUntilItsPaymentIsKnown) {
    const std::string id = withdraw(1'000'000);
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    town.look();
    town.node.mine();
    restore();
    rotate('\x22');
    const server::RetireOptions options{
        .treasury = crypto::checksummed(treasury_address()), .why = "rotated", .apply = true};
    EXPECT_THROW(server::retire_treasury(given(), options), std::exception);
    town.node.finalize();
    const Micro paid = held();
    EXPECT_EQ(server::retire_treasury(given(), options), 0) << "its payment is adopted";
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0);
    resume();
    EXPECT_EQ(state(id), "SUBMITTED");
    for (int i = 0; i < 3; ++i) settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(held(), paid) << "paid once";
    EXPECT_EQ(town.audit(), "sound");
}

// What it paid after the backup is somebody's, who must not get it again.
TEST_F(SqliteOnlyRotation, ATreasuryIsNotRetiredWithAPaymentThatNobodyExplained) {
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    withdraw(4'000'000);
    settle();
    restore();
    rotate('\x22');
    server::RetireOptions options{
        .treasury = crypto::checksummed(treasury_address()), .why = "rotated", .apply = true};
    EXPECT_THROW(server::retire_treasury(given(), options), std::exception);
    resume();
    EXPECT_TRUE(is_frozen()) << "nothing leaves the account that got it";
    town.stop();
    options.foreign_why = "it was a test of ours";
    EXPECT_EQ(server::retire_treasury(given(), options), 0);
    resume();
    EXPECT_FALSE(is_frozen());
}

TEST_F(SqliteOnlyRotation, APaymentByTwoTreasuriesIsAdoptedOnceAndTheOtherIsForeign) {
    const std::string id = withdraw(1'000'000);
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    settle();
    restore();
    const crypto::Address second = rotate('\x22');
    // As a service without this rule would have done.
    const auto key = *crypto::SigningKey::from_bytes(std::string(32, '\x22'));
    town.node.transfer(key, town.node.usdc(), {address_of(ada.wallet), Micro{1'000'000}});
    town.node.finalize();
    resume();
    ledger::Treasury ours{second, {town.node.usdc(), town.node.usdt()}};
    const auto found =
        transfers::Reconciler({ours, chain, database()}).examine({second}, std::nullopt);
    ASSERT_EQ(found.size(), 2U);
    ASSERT_EQ(found[0].findings.size(), 1U);
    ASSERT_EQ(found[1].findings.size(), 1U);
    using enum transfers::Finding::Kind;
    EXPECT_NE(found[0].findings[0].kind == adopt, found[1].findings[0].kind == adopt)
        << found[0].findings[0].text << "; " << found[1].findings[0].text;
    EXPECT_EQ(to_string(found[0].findings[0].transfer->transfer_id), id);
    const auto apply = [&](std::span<const transfers::Reconciliation> some) {
        database().write([&](db::Transaction& tx) {
            transfers::reconcile(tx, town.town.harness.clock.now(), some, "paid twice");
        });
    };
    EXPECT_THROW(apply(std::span(found).subspan(0, 1)), std::runtime_error)
        << "holds are lifted only when all were looked at";
    apply(found);
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

}  // namespace
}  // namespace berth::test
