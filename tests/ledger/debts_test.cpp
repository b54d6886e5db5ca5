// What happens to money that has left before somebody wanted it back: who bears a refund, what a
// dispute can hold, and how long earnings stay.
#include <gtest/gtest.h>

#include "ledger/books.hpp"
#include "ledger/maturing.hpp"

namespace berth::test {
namespace {

using ledger::Bearer;

// A host whose earnings of one job, 900 of 1000, are paid out.
struct Debts : ::testing::Test {
    Debts() { rental.pay_out(900); }
    ~Debts() override { EXPECT_TRUE(books.check().sound()) << to_text(books.check()); }

    ledger::Balances host() { return books.balances(rental.host); }
    Micro in_custody() {
        Micro sum;
        for (const AccountId id : {rental.renter, rental.host}) {
            const auto has = books.balances(id);
            sum += has.available + has.held + has.reserved +
                   std::max(Micro{}, has.payable + has.escrow);
        }
        return sum;
    }
    ledger::Means means() {
        return books.database->read(
            [](db::Transaction& tx) { return ledger::means(tx, ledger::Asset::usdc); });
    }
    void own(ledger::Movement movement, std::int64_t amount) {
        if (movement == ledger::Movement::top_up)
            books.write([&](ledger::Context context) {
                ledger::park(context, {{}, ledger::Asset::usdc, Micro{amount}, "chain:own"});
            });
        books.write([&](ledger::Context context) {
            ledger::move_own(context, {movement, ledger::Asset::usdc, Micro{amount}, "chain:own"});
        });
    }
    Micro maturing() {
        return books.database->read([&](db::Transaction& tx) {
            return ledger::maturing(tx, rental.host, ledger::Asset::usdc, books.clock.now()).amount;
        });
    }
    JobId run_maturing(std::int64_t charge) {
        const JobId id = rental.begin(charge, 1000, 24);
        rental.capture(id, charge);
        rental.release(id);
        return id;
    }
    // The credit was set aside before; its earnings, and the rest's, can be paid out.
    JobId run_on_credit(std::int64_t charge, std::int64_t credit) {
        const auto id = books.make_id<JobId>();
        books.write([&](ledger::Context context) {
            ledger::fund_campaign(context, ledger::Asset::usdc, Micro{credit}, to_string(id));
            ledger::hold(context,
                         {id, rental.renter, rental.host, rental.machine, ledger::Asset::usdc,
                          Micro{charge}, Micro{3'600'000}, 1000, 0, Micro{credit}});
        });
        rental.capture(id, charge);
        rental.release(id);
        books.clock.advance(std::chrono::hours(ledger::credit_delay_hours));
        return id;
    }
    std::optional<Code> refusal_of_payout(std::int64_t amount) {
        return refusal([&] {
            books.write([&](ledger::Context context) {
                ledger::lock(context, {books.make_id<ledger::TransferId>(), rental.host,
                                       ledger::Asset::usdc, Micro{amount}, ledger::Source::payout});
            });
        });
    }
    Micro dispute(JobId of, std::int64_t amount, ledger::DisputeId id) {
        return books.write([&](ledger::Context context) {
            return ledger::dispute(context, {id, of, Micro{amount}});
        });
    }

    Books books;
    Rental rental{books, 10'000};
    JobId job = rental.run(1000, 1000);
};

TEST_F(Debts, ARefundThatEarningsDoNotPayIsRefusedUnlessSomebodyBearsIt) {
    rental.run(100, 100);  // 90 are there
    try {
        rental.refund(job, 1000);
        FAIL() << "other customers' money was refunded";
    } catch (const ledger::Shortfall& refused) {
        EXPECT_EQ(refused.host_shortfall, Micro{810});
        EXPECT_EQ(refused.code, Code::conflict);
    }
    EXPECT_EQ(host().payable, Micro{90});
    EXPECT_EQ(rental.refund(job, 100).shortfall, Micro{0}) << "what is there pays";
    EXPECT_EQ(host().payable, Micro{0});
}

TEST_F(Debts, TheHostOwesAndPaysWithWhateverItHasAndGets) {
    books.deposit(rental.host, 250);
    const auto made = rental.refund(job, 1000, Bearer::host_debt);
    EXPECT_EQ(made.shortfall, Micro{900});
    EXPECT_EQ(made.from_available, Micro{250});
    EXPECT_EQ(made.from_platform, Micro{0});
    EXPECT_EQ(host().available, Micro{0});
    EXPECT_EQ(host().payable, Micro{-650});
    books.deposit(rental.host, 150);
    EXPECT_EQ(host().available, Micro{0}) << "a deposit pays a debt first";
    EXPECT_EQ(host().payable, Micro{-500});
    rental.run(1000, 1000);
    EXPECT_EQ(host().payable, Micro{400});
    books.deposit(rental.host, 70);
    EXPECT_EQ(host().available, Micro{70});
    EXPECT_EQ(host().repaid, Micro{400});
    EXPECT_EQ(host().requested(), Micro{0});
}

// A host may rent, too: what a hold releases was its own money.
TEST_F(Debts, WhatAHoldReleasesPaysADebt) {
    books.deposit(rental.host, 500);
    const auto other = books.make_id<JobId>();
    books.write([&](ledger::Context context) {
        ledger::hold(context, {other, rental.host, rental.renter, rental.machine,
                               ledger::Asset::usdc, Micro{500}, Micro{3'600'000}, 0});
    });
    rental.refund(job, 1000, Bearer::host_debt);
    EXPECT_EQ(host().payable, Micro{-900});
    rental.release(other);
    EXPECT_EQ(host().available, Micro{0});
    EXPECT_EQ(host().payable, Micro{-400});
}

TEST_F(Debts, NobodyOwesACreditSoThePlatformBearsWhatTheHostHasNot) {
    own(ledger::Movement::top_up, 3000);
    const JobId by_credit = run_on_credit(1000, 1000);
    rental.pay_out(900);
    EXPECT_EQ(means().capital, Micro{2000});
    EXPECT_EQ(means().fees, Micro{200});
    EXPECT_EQ(refusal([&] { rental.refund(by_credit, 1000, Bearer::host_debt); }), Code::conflict);
    EXPECT_EQ(refusal([&] { rental.refund(by_credit, 1, Bearer::host_debt); }), Code::conflict);
    EXPECT_EQ(host().payable, Micro{0});
    const auto made = rental.refund(by_credit, 1000, Bearer::platform);
    EXPECT_EQ(made.to_credit, Micro{1000});
    EXPECT_EQ(made.from_platform, Micro{900});
    EXPECT_EQ(means().fees, Micro{0}) << "the fee's part, and the first of the host's";
    EXPECT_EQ(means().capital, Micro{1200});
    EXPECT_EQ(host().payable, Micro{0});
}

TEST_F(Debts, OfWhatACreditAndTheBalancePaidTheHostOwesTheBalancesPart) {
    own(ledger::Movement::top_up, 400);
    const JobId mixed = run_on_credit(1000, 400);
    rental.pay_out(900);
    EXPECT_EQ(refusal([&] { rental.refund(mixed, 1000, Bearer::host_debt); }), Code::conflict);
    books.deposit(rental.host, 360);
    const auto made = rental.refund(mixed, 1000, Bearer::host_debt);
    EXPECT_EQ(made.to_credit, Micro{400});
    EXPECT_EQ(made.from_available, Micro{360}) << "the credit's part, from what the host has";
    EXPECT_EQ(host().payable, Micro{-540});
}

TEST_F(Debts, WhatARenterSpentFallsByARefundToACredit) {
    own(ledger::Movement::top_up, 400);
    const JobId mixed = run_on_credit(1000, 400);
    const auto spent = [&] {
        const std::int64_t today = ledger::day_of(books.clock.now());
        return books.database->read([&](db::Transaction& tx) {
            return ledger::spent(tx, rental.renter, ledger::Asset::usdc, {today - 60, today});
        });
    };
    EXPECT_EQ(spent(), Micro{2000});
    rental.refund(mixed, 700);
    EXPECT_EQ(spent(), Micro{1300});
    rental.refund(mixed, 300);
    EXPECT_EQ(spent(), Micro{1000});
}

TEST_F(Debts, ThePlatformBearsItFromFeesAndCapitalAndNeverFromCustomers) {
    EXPECT_EQ(means().fees, Micro{100});
    const Micro owed = in_custody();
    EXPECT_EQ(refusal([&] { rental.refund(job, 500, Bearer::platform); }), Code::conflict)
        << "450 are missing, and 50 are left of the fees";
    own(ledger::Movement::top_up, 420);
    const auto made = rental.refund(job, 500, Bearer::platform);
    EXPECT_EQ(made.from_platform, Micro{450});
    EXPECT_EQ(host().payable, Micro{0});
    EXPECT_EQ(in_custody(), owed + Micro{500});
    EXPECT_EQ(means().fees, Micro{0});
    EXPECT_EQ(means().capital, Micro{20});
    EXPECT_EQ(host().repaid, Micro{450});
    books.database->read([](db::Transaction& tx) {
        EXPECT_EQ(ledger::fees_earned(tx, ledger::Asset::usdc), Micro{0})
            << "what bore a debt cannot be taken out";
    });
}

TEST_F(Debts, FeesThatWereTakenOutBearNothing) {
    own(ledger::Movement::fee_take_out, 100);
    EXPECT_EQ(means().fees, Micro{0});
    EXPECT_EQ(refusal([&] { rental.refund(job, 10, Bearer::platform); }), Code::conflict);
}

TEST_F(Debts, TheFeesPartOfARefundIsNeverCustomersMoney) {
    const JobId solvent = rental.run(1000, 1000);
    own(ledger::Movement::fee_take_out, 200);
    EXPECT_EQ(refusal([&] { rental.refund(solvent, 100); }), Code::conflict)
        << "the host has its 90, and of the fees nothing is left";
    EXPECT_EQ(host().payable, Micro{900});
    own(ledger::Movement::top_up, 10);
    EXPECT_EQ(rental.refund(solvent, 100).shortfall, Micro{0});
    EXPECT_EQ(host().payable, Micro{810});
    EXPECT_EQ(means().fees + means().capital, Micro{0});
}

TEST_F(Debts, ADisputeHoldsNoMoreThanIsThere) {
    const auto nothing = books.make_id<ledger::DisputeId>();
    EXPECT_EQ(dispute(job, 300, nothing), Micro{0});
    EXPECT_EQ(host().payable, Micro{0});
    EXPECT_EQ(host().escrow, Micro{0});
    rental.run(100, 100);
    const auto some = books.make_id<ledger::DisputeId>();
    EXPECT_EQ(dispute(job, 300, some), Micro{90});
    EXPECT_EQ(host().payable, Micro{0});
    EXPECT_EQ(host().escrow, Micro{90});
    books.write([&](ledger::Context context) {
        EXPECT_EQ(ledger::end_dispute(context, nothing), Micro{0});
        EXPECT_EQ(ledger::end_dispute(context, some), Micro{90});
    });
    EXPECT_EQ(host().payable, Micro{90});
}

TEST_F(Debts, AnOlderDebtDoesNotTakeWhatADisputeSecured) {
    const JobId disputed = rental.run(1000, 1000);
    const auto id = books.make_id<ledger::DisputeId>();
    EXPECT_EQ(dispute(disputed, 900, id), Micro{900});
    rental.refund(job, 1000, Bearer::host_debt);
    EXPECT_EQ(host().payable, Micro{-900});
    const auto refund = books.make_id<ledger::RefundId>();
    books.write([&](ledger::Context context) {
        const Micro released = ledger::end_dispute(context, id);
        const auto made = ledger::refund(context, {refund, disputed, Micro{1000}, {}, released});
        EXPECT_EQ(made.shortfall, Micro{0});
    });
    EXPECT_EQ(host().payable, Micro{-900});
}

TEST_F(Debts, EarningsArePaidOutOnlyWhenTheyAreRipe) {
    rental.run(100, 100);
    run_maturing(1000);
    EXPECT_EQ(maturing(), Micro{900});
    EXPECT_EQ(refusal_of_payout(91), Code::insufficient_funds);
    EXPECT_EQ(refusal_of_payout(90), std::nullopt);
    books.clock.advance(std::chrono::hours(23));
    EXPECT_EQ(refusal_of_payout(1), Code::insufficient_funds);
    books.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(maturing(), Micro{0});
    EXPECT_EQ(refusal_of_payout(900), std::nullopt);
}

TEST_F(Debts, WhatIsRefundedOrDisputedOfThemDoesNotMature) {
    const JobId young = run_maturing(1000);
    rental.run(1000, 1000);
    EXPECT_EQ(maturing(), Micro{900});
    const auto id = books.make_id<ledger::DisputeId>();
    dispute(young, 400, id);
    EXPECT_EQ(maturing(), Micro{500});
    rental.refund(young, 500);
    EXPECT_EQ(maturing(), Micro{50});
    EXPECT_EQ(refusal_of_payout(901), Code::insufficient_funds);
    EXPECT_EQ(refusal_of_payout(900), std::nullopt);
    books.write([&](ledger::Context context) { ledger::end_dispute(context, id); });
    EXPECT_EQ(maturing(), Micro{450}) << "the end of a dispute makes nothing ripe";
}

TEST_F(Debts, EachPostingMaturesFromItsOwnTime) {
    const JobId id = rental.begin(2000, 1000, 24);
    rental.capture(id, 1000);
    books.clock.advance(std::chrono::hours(20));
    rental.capture(id, 2000);
    rental.release(id);
    EXPECT_EQ(maturing(), Micro{1800});
    books.clock.advance(std::chrono::hours(4));
    EXPECT_EQ(maturing(), Micro{900});
}

TEST_F(Debts, WhatIsHeardOfLateMaturesFromThenAndNotFromItsDay) {
    const JobId id = rental.begin(1000, 1000, 24);
    books.clock.advance(std::chrono::hours(30));
    books.write([&](ledger::Context context) {
        const Time heard = context.now;
        ledger::capture({context.tx, context.random, heard - std::chrono::hours(29)}, id,
                        {Micro{1000}, 1000, heard});
    });
    rental.release(id);
    EXPECT_EQ(maturing(), Micro{900}) << "its day was over, and nobody could dispute it";
    EXPECT_EQ(refusal_of_payout(1), Code::insufficient_funds);
    books.clock.advance(std::chrono::hours(23));
    EXPECT_EQ(maturing(), Micro{900});
    books.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(maturing(), Micro{0});
}

TEST_F(Debts, TheProofFindsEarningsThatMatureOtherwise) {
    run_maturing(1000);
    for (const std::string change :
         {"UPDATE ledger_maturing SET matures_at = 1", "UPDATE ledger_maturing SET amount = 1",
          "DELETE FROM ledger_maturing", "UPDATE ledger_jobs SET payout_delay_hours = 0"}) {
        struct Undo {};
        try {
            books.database->write([&](db::Transaction& tx) {
                tx.script(change);
                EXPECT_FALSE(ledger::check_ledger(tx).sound()) << change;
                throw Undo{};
            });
        } catch (const Undo&) {
        }
    }
}

}  // namespace
}  // namespace berth::test
