// A proof that goes on from an earlier one looks at what is new, and remembers what was there.
#include <gtest/gtest.h>

#include "ledger/busy.hpp"

namespace berth::test {
namespace {

using ledger::Asset;

// As the next run finds it.
ledger::Verified kept(const ledger::Report& report) {
    EXPECT_TRUE(report.sound()) << to_text(report);
    const auto read = ledger::parse_verified(ledger::write_verified(report.verified));
    EXPECT_TRUE(read.has_value());
    return read.value_or(ledger::Verified{});
}

ledger::Report check_from(Books& books, const ledger::Verified& verified) {
    ledger::CheckOptions options;
    options.verified = &verified;
    return books.database->read(
        [&](db::Transaction& tx) { return ledger::check_ledger(tx, options); });
}

TEST(LedgerVerified, TheNextProofLooksOnlyAtWhatIsNewAndFindsTheSame) {
    Busy busy;
    const ledger::Verified verified = kept(busy.books.check());
    const ledger::Report same = check_from(busy.books, verified);
    EXPECT_TRUE(same.sound()) << to_text(same);
    EXPECT_EQ(same.looked_at, 0);

    // Something for an account that was there, for a new one, and for a job from before.
    busy.deposit(ledger::deposit, busy.renter, Asset::usdc, 500, "five");
    busy.run(busy.books.make_id<AccountId>(), 100, 50);
    busy.books.write([&](auto context) {
        ledger::refund(context, {busy.books.make_id<ledger::RefundId>(), busy.job, Micro{20}});
    });
    busy.books.write([&](auto context) { ledger::end_dispute(context, busy.open_dispute); });
    const ledger::Report report = check_from(busy.books, verified);
    EXPECT_TRUE(report.sound()) << to_text(report);
    EXPECT_EQ(report.looked_at, 7);
    const ledger::Report full = busy.books.check();
    EXPECT_EQ(report.verified.totals.transactions, full.looked_at);
    EXPECT_EQ(report.verified.accounts.size(), full.verified.accounts.size());
    const auto rows = report.trial_balance();
    const auto expected = full.trial_balance();
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].debit, expected[i].debit);
        EXPECT_EQ(rows[i].credit, expected[i].credit);
    }
}

TEST(LedgerVerified, FindsAlterationsOfWhatWasVerified) {
    Busy busy;
    const ledger::Verified verified = kept(busy.books.check());
    ledger::CheckOptions options;
    options.verified = &verified;
    for (const std::string script :
         {"UPDATE ledger_accounts SET available = available + 1 WHERE available > 5000",
          "UPDATE ledger_accounts SET head = (SELECT previous_hash FROM ledger_transactions WHERE "
          "ledger_transactions.hash = ledger_accounts.head), sequence = sequence - 1 "
          "WHERE available > 5000",
          "UPDATE ledger_jobs SET closed = 0 WHERE charged = 600",
          "UPDATE ledger_transfers SET state = 'settled' WHERE amount = 400",
          "UPDATE ledger_disputes SET closed = 1 WHERE amount = 50",
          "DELETE FROM ledger_jobs WHERE charged = 600",
          "DELETE FROM ledger_transfers WHERE amount = 401",
          "DELETE FROM ledger_accounts WHERE payable = 180",
          "DELETE FROM ledger_entries WHERE ordinal = 3",
          "DELETE FROM ledger_transactions WHERE movement = 'charge'"})
        EXPECT_FALSE(report_after(busy.books, script, options).sound()) << script;
    EXPECT_TRUE(check_from(busy.books, verified).sound());
}

TEST(LedgerVerified, WithoutCountingItFindsWhatIsNewAndWhatChangesABalance) {
    Busy busy;
    const ledger::Verified verified = kept(busy.books.check());
    ledger::CheckOptions options;
    options.verified = &verified;
    options.counts = false;
    const auto sound = report_after(busy.books, "SELECT 1", options);
    EXPECT_TRUE(sound.sound()) << to_text(sound);
    for (const std::string script :
         {"UPDATE ledger_accounts SET available = available + 1 WHERE available > 5000",
          "UPDATE ledger_jobs SET closed = 0 WHERE charged = 600",
          "UPDATE ledger_transfers SET state = 'settled' WHERE amount = 400",
          "UPDATE ledger_disputes SET closed = 1 WHERE amount = 50",
          "DELETE FROM ledger_accounts WHERE payable = 180",
          // Of no transaction, and a job that nothing was posted for.
          "INSERT INTO ledger_entries (transaction_id, ordinal, owner_id, asset, pocket, kind, "
          "amount) SELECT renter_id, 1, renter_id, asset, 'fee_income', 'platform_fee', 5 "
          "FROM ledger_jobs LIMIT 1",
          "INSERT INTO ledger_jobs (job_id, renter_id, host_id, machine_id, asset, rate_per_hour, "
          "fee_bps, budget, runtime_ms, charged, charged_before, refunded, refunded_before, "
          "disputed, closed) SELECT renter_id, renter_id, host_id, machine_id, asset, 1, 1, 5, 1, "
          "0, 0, 0, 0, 0, 1 FROM ledger_jobs LIMIT 1"})
        EXPECT_FALSE(report_after(busy.books, script, options).sound()) << script;
}

// Nothing in the database tells that it was ever otherwise; what was kept elsewhere does.
TEST(LedgerVerified, FindsAPastThatWasLeftOutEverywhere) {
    Books books;
    const auto account = books.make_id<AccountId>();
    books.deposit(account, 700);
    books.deposit(account, 300);
    const ledger::Verified verified = kept(books.check());
    const std::string script =
        "UPDATE ledger_accounts SET available = 700, sequence = 1, entries = 1, "
        "head = (SELECT hash FROM ledger_transactions WHERE sequence = 1);"
        "DELETE FROM ledger_entries WHERE transaction_id = (SELECT transaction_id FROM "
        "ledger_transactions WHERE sequence = 2);"
        "DELETE FROM ledger_transactions WHERE sequence = 2";
    ledger::CheckOptions options;
    EXPECT_TRUE(report_after(books, script, options).sound());
    options.verified = &verified;
    EXPECT_FALSE(report_after(books, script, options).sound());
}

TEST(LedgerVerified, WhatWasKeptIsReadOnlyIfItIsWhole) {
    Busy busy;
    const std::string text = ledger::write_verified(busy.books.check().verified);
    EXPECT_TRUE(ledger::parse_verified(text).has_value());
    EXPECT_FALSE(ledger::parse_verified("").has_value());
    EXPECT_FALSE(ledger::parse_verified(text + "\n").has_value());
    for (std::size_t i = 0; i < text.size(); i += 7) {
        std::string other = text;
        other[i] = other[i] == '1' ? '2' : '1';
        EXPECT_FALSE(ledger::parse_verified(other).has_value()) << i;
        EXPECT_FALSE(ledger::parse_verified(text.substr(0, i)).has_value()) << i;
    }
}

TEST(LedgerVerified, SeveralThreadsFindWhatOneFinds) {
    Books books;
    for (int i = 0; i < 1200; ++i) {
        const auto account = books.make_id<AccountId>();
        books.deposit(account, 10 + i);
        if (i % 100 == 0) books.deposit(account, 5, Asset::usdt);
    }
    ledger::CheckOptions options;
    options.threads = 3;
    const ledger::Report report = ledger::check_ledger(*books.database, options);
    EXPECT_TRUE(report.sound()) << to_text(report);
    EXPECT_EQ(to_text(report), to_text(books.check()));
    books.database->write([](db::Transaction& tx) {
        tx.run("UPDATE ledger_entries SET amount = amount * 2 WHERE amount IN (700, -700)");
    });
    const ledger::Report altered = ledger::check_ledger(*books.database, options);
    EXPECT_EQ(altered.fault_count, books.check().fault_count) << to_text(altered);
    EXPECT_FALSE(altered.sound());
}

// More jobs than one thread takes at once, from the beginning and from what was verified.
TEST(LedgerVerified, SeveralThreadsFindEveryJobThatIsNotWhatItsEntriesSay) {
    Books books;
    Rental rental(books, 100'000'000);
    rental.run(1000, 600);
    const ledger::Report before = books.check();
    ASSERT_TRUE(before.sound()) << to_text(before);
    std::vector<JobId> jobs;
    for (int i = 0; i < 1100; ++i) jobs.push_back(rental.run(1000, 600));
    ledger::CheckOptions all;
    all.threads = 3;
    ledger::CheckOptions news = all;
    news.verified = &before.verified;
    for (const ledger::CheckOptions& options : {all, news}) {
        const ledger::Report sound = ledger::check_ledger(*books.database, options);
        EXPECT_TRUE(sound.sound()) << to_text(sound);
    }
    books.database->write([&](db::Transaction& tx) {
        for (const std::size_t i : {0U, 550U, 1099U})
            tx.run("UPDATE ledger_jobs SET host_id = renter_id WHERE job_id = $1", jobs.at(i));
    });
    for (const ledger::CheckOptions& options : {all, news})
        EXPECT_EQ(ledger::check_ledger(*books.database, options).fault_count, 3);
    books.database->write([&](db::Transaction& tx) {
        tx.run("DELETE FROM ledger_jobs WHERE job_id = $1", jobs.at(700));
    });
    for (const ledger::CheckOptions& options : {all, news})
        EXPECT_NE(to_text(ledger::check_ledger(*books.database, options))
                      .find("job " + to_string(jobs.at(700)) + ": has entries and no row"),
                  std::string::npos);
}

}  // namespace
}  // namespace berth::test
