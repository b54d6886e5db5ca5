#include <gtest/gtest.h>

#include "ledger/books.hpp"

namespace berth::test {
namespace {

using ledger::Source;

TEST(Ledger, AnAccountThatNeverHadMoneyHasNone) {
    Books books;
    const auto balances = books.balances(books.make_id<AccountId>());
    EXPECT_EQ(balances.available, Micro{0});
    EXPECT_EQ(balances.requested(), Micro{0});
    EXPECT_TRUE(books.check().sound());
}

TEST(Ledger, AJobTakesItsChargeFromTheBudgetAndGivesTheRestBack) {
    Books books;
    Rental rental(books, 5'000'000);
    const JobId job = rental.begin(3'000'000);
    EXPECT_EQ(books.balances(rental.renter).available, Micro{2'000'000});
    EXPECT_EQ(books.balances(rental.renter).held, Micro{3'000'000});
    rental.capture(job, 1'000'001);
    rental.capture(job, 1'234'567);
    rental.release(job);
    rental.release(job);
    EXPECT_EQ(books.balances(rental.renter).available, Micro{5'000'000 - 1'234'567});
    EXPECT_EQ(books.balances(rental.renter).held, Micro{0});
    const auto host = books.balances(rental.host);
    EXPECT_EQ(host.payable, Micro{1'234'567 - 123'456});
    EXPECT_EQ(host.fees, Micro{123'456});
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

TEST(Ledger, CapturesInManyStepsTakeTheFeeOfTheWhole) {
    Books books;
    Rental rental(books);
    const JobId job = rental.begin(1000, 333);
    for (std::int64_t charge = 7; charge <= 1000; charge += 7) rental.capture(job, charge);
    const auto found =
        books.database->read([&](db::Transaction& tx) { return ledger::find_job(tx, job); });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->charged, Micro{994});
    EXPECT_EQ(found->fee, Micro{994 * 333 / 10'000});
    EXPECT_EQ(books.balances(rental.host).fees, found->fee);
    EXPECT_TRUE(books.check().sound());
}

TEST(Ledger, RepeatingACaptureChargesNothing) {
    Books books;
    Rental rental(books);
    const JobId job = rental.begin(1000);
    rental.capture(job, 500);
    rental.capture(job, 500);
    EXPECT_EQ(books.balances(rental.renter).held, Micro{500});
}

TEST(Ledger, RefusesWhatIsNotThere) {
    Books books;
    Rental rental(books, 1000);
    EXPECT_EQ(refusal([&] { rental.begin(1001); }), Code::insufficient_funds);
    const JobId job = rental.begin(1000);
    EXPECT_EQ(refusal([&] { rental.capture(job, 1001); }), Code::insufficient_funds);
    rental.capture(job, 10);
    EXPECT_EQ(refusal([&] { rental.capture(job, 9); }), Code::conflict);
    EXPECT_EQ(refusal([&] { rental.refund(job, 1); }), Code::conflict);
    rental.release(job);
    EXPECT_EQ(refusal([&] { rental.capture(job, 11); }), Code::conflict);
    EXPECT_EQ(refusal([&] { rental.release(books.make_id<JobId>()); }), Code::not_found);
    EXPECT_EQ(books.balances(rental.renter).available, Micro{990});
    EXPECT_TRUE(books.check().sound());
}

TEST(Ledger, RaisingABudgetHoldsMore) {
    Books books;
    Rental rental(books, 1000);
    const JobId job = rental.begin(400);
    const auto raise = [&](std::int64_t add, std::int64_t version) {
        books.write([&](ledger::Context context) {
            ledger::raise_hold(context, job, Micro{add}, version);
        });
    };
    raise(500, 2);
    EXPECT_EQ(books.balances(rental.renter).held, Micro{900});
    EXPECT_EQ(refusal([&] { raise(101, 3); }), Code::insufficient_funds);
    rental.capture(job, 900);
    rental.release(job);
    EXPECT_EQ(refusal([&] { raise(1, 4); }), Code::conflict);
    EXPECT_TRUE(books.check().sound());
}

TEST(Ledger, ARefundOfEverythingUndoesAJobToTheMicroUnit) {
    for (const std::int64_t fee_bps : {0, 1, 333, 1000, 9999, 10'000}) {
        Books books;
        Rental rental(books, 10'000);
        const JobId job = rental.run(5000, 4999, fee_bps);
        for (const std::int64_t part : {1, 7, 991, 4000}) rental.refund(job, part);
        const auto host = books.balances(rental.host);
        EXPECT_EQ(books.balances(rental.renter).available, Micro{10'000});
        EXPECT_EQ(host.payable, Micro{0}) << fee_bps;
        EXPECT_EQ(host.earned, Micro{0});
        EXPECT_EQ(host.fees, Micro{0});
        EXPECT_EQ(refusal([&] { rental.refund(job, 1); }), Code::conflict);
        EXPECT_TRUE(books.check().sound());
    }
}

TEST(Ledger, RefundsOfAJobAreAtMostItsCharge) {
    Books books;
    Rental rental(books);
    const JobId job = rental.run(1000, 600);
    const auto refunded = rental.refund(job, 400);
    EXPECT_EQ(refunded.total, Micro{400});
    EXPECT_EQ(refunded.refundable, Micro{200});
    EXPECT_EQ(refusal([&] { rental.refund(job, 201); }), Code::conflict);
    EXPECT_EQ(rental.refund(job, 200).refundable, Micro{0});
}

TEST(Ledger, ARefundOfWhatWasPaidOutIsCarriedForward) {
    Books books;
    Rental rental(books);
    const JobId job = rental.run(1000, 1000);
    rental.pay_out(900);
    rental.refund(job, 1000, ledger::Bearer::host_debt);
    EXPECT_EQ(books.balances(rental.host).payable, Micro{-900});
    const auto lock_one = [&] {
        books.write([&](ledger::Context context) {
            ledger::lock(context, {books.make_id<ledger::TransferId>(), rental.host,
                                   ledger::Asset::usdc, Micro{1}, Source::payout});
        });
    };
    EXPECT_EQ(refusal(lock_one), Code::insufficient_funds);
    rental.run(2000, 2000);
    EXPECT_EQ(books.balances(rental.host).payable, Micro{900});
    EXPECT_EQ(refusal(lock_one), std::nullopt);
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

TEST(Ledger, ATransferEndsOnce) {
    Books books;
    Rental rental(books, 1000);
    const auto settled = books.make_id<ledger::TransferId>();
    const auto returned = books.make_id<ledger::TransferId>();
    for (const auto transfer : {settled, returned})
        books.write([&](ledger::Context context) {
            ledger::lock(context, {transfer, rental.renter, ledger::Asset::usdc, Micro{300},
                                   Source::withdrawal});
        });
    EXPECT_EQ(books.balances(rental.renter).reserved, Micro{600});
    const auto settle = [&](ledger::TransferId id) {
        books.write([&](ledger::Context context) { ledger::settle(context, id); });
    };
    const auto give_back = [&](ledger::TransferId id) {
        books.write([&](ledger::Context context) { ledger::give_back(context, id); });
    };
    settle(settled);
    give_back(returned);
    for (const auto transfer : {settled, returned}) {
        EXPECT_EQ(refusal([&] { settle(transfer); }), Code::conflict);
        EXPECT_EQ(refusal([&] { give_back(transfer); }), Code::conflict);
    }
    EXPECT_EQ(books.balances(rental.renter).available, Micro{700});
    EXPECT_EQ(books.balances(rental.renter).reserved, Micro{0});
    EXPECT_TRUE(books.check().sound());
}

TEST(Ledger, ADisputeKeepsEarningsOutOfReach) {
    Books books;
    Rental rental(books);
    const JobId job = rental.run(1000, 1000);
    const auto dispute = [&](ledger::DisputeId id, std::int64_t amount) {
        books.write([&](ledger::Context context) {
            ledger::dispute(context, {id, job, Micro{amount}});
        });
    };
    const auto id = books.make_id<ledger::DisputeId>();
    EXPECT_EQ(refusal([&] { dispute(id, 901); }), Code::conflict);
    dispute(id, 900);
    EXPECT_EQ(books.balances(rental.host).escrow, Micro{900});
    EXPECT_EQ(books.balances(rental.host).payable, Micro{0});
    EXPECT_EQ(refusal([&] { dispute(books.make_id<ledger::DisputeId>(), 1); }), Code::conflict);
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
    for (int i = 0; i < 2; ++i)
        books.write([&](ledger::Context context) { ledger::end_dispute(context, id); });
    EXPECT_EQ(books.balances(rental.host).payable, Micro{900});
    EXPECT_TRUE(books.check().sound());
}

TEST(Ledger, ATransferOnChainIsCreditedOnce) {
    Books books;
    const auto account = books.make_id<AccountId>();
    const ledger::Deposit deposit{account, ledger::Asset::usdt, Micro{77}, "8453:0xab:0"};
    const auto run = [&](auto function) {
        books.write([&](ledger::Context context) { function(context, deposit); });
    };
    run(ledger::park);
    EXPECT_EQ(books.balances(account, ledger::Asset::usdt).available, Micro{0});
    run(ledger::match);
    EXPECT_EQ(books.balances(account, ledger::Asset::usdt).available, Micro{77});
    EXPECT_THROW(run(ledger::deposit), db::StatementError);
    EXPECT_THROW(run(ledger::match), db::StatementError);
    EXPECT_EQ(books.balances(account, ledger::Asset::usdt).available, Micro{77});
    EXPECT_EQ(books.balances(account).available, Micro{0});
    EXPECT_TRUE(books.check().sound());
}

}  // namespace
}  // namespace berth::test
