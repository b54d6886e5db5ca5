// Reading the ledger: pages of a statement, the entries of a job, and sums by day.
#include <gtest/gtest.h>

#include <thread>

#include "ledger/books.hpp"

namespace berth::test {
namespace {

using ledger::Asset;
using ledger::Entry;
using ledger::Kind;
using ledger::Mark;
using ledger::Pocket;
using ledger::Source;
using ledger::StatementLine;

constexpr auto day_length = std::chrono::hours(24);

std::vector<StatementLine> lines(Books& books, AccountId account, const std::optional<Mark>& before,
                                 std::int64_t rows_max) {
    return books.database->read(
        [&](db::Transaction& tx) { return ledger::statement(tx, account, before, rows_max); });
}
std::vector<Entry> page(Books& books, AccountId account, std::int64_t rows_max) {
    std::vector<Entry> entries;
    for (StatementLine& line : lines(books, account, std::nullopt, rows_max))
        entries.push_back(std::move(line.entry));
    return entries;
}

std::int64_t today(Books& books) { return ledger::day_of(books.clock.now()); }

std::vector<ledger::DayEarnings> earnings(Books& books, AccountId host, const ledger::Days& days) {
    return books.database->read(
        [&](db::Transaction& tx) { return ledger::earnings_by_day(tx, host, Asset::usdc, days); });
}

Micro spent(Books& books, AccountId renter, const ledger::Days& days) {
    return books.database->read(
        [&](db::Transaction& tx) { return ledger::spent(tx, renter, Asset::usdc, days); });
}

void pay_out(Books& books, AccountId host, std::int64_t amount) {
    const auto transfer = books.make_id<ledger::TransferId>();
    books.write([&](ledger::Context context) {
        ledger::lock(context, {transfer, host, Asset::usdc, Micro{amount}, Source::payout});
    });
    books.write([&](ledger::Context context) { ledger::settle(context, transfer); });
}

TEST(Statement, OfAnAccountWithoutMoneyIsEmpty) {
    Books books;
    EXPECT_TRUE(page(books, books.make_id<AccountId>(), 20).empty());
}

TEST(Statement, ShowsTheNewestFirst) {
    Books books;
    Rental rental(books, 1000);
    const JobId job = rental.begin(400);
    rental.capture(job, 300);
    const auto entries = page(books, rental.renter, 20);
    ASSERT_EQ(entries.size(), 4U);
    const auto is = [&](std::size_t i, Kind kind, Pocket pocket, std::int64_t amount) {
        EXPECT_EQ(entries[i].kind, kind) << i;
        EXPECT_EQ(entries[i].pocket, pocket) << i;
        EXPECT_EQ(entries[i].amount, Micro{amount}) << i;
        EXPECT_EQ(entries[i].owner, rental.renter) << i;
        EXPECT_EQ(entries[i].asset, Asset::usdc) << i;
    };
    is(0, Kind::job_charge, Pocket::held, -300);
    is(1, Kind::hold, Pocket::held, 400);
    is(2, Kind::hold, Pocket::available, -400);
    is(3, Kind::deposit, Pocket::available, 1000);
    EXPECT_EQ(entries[0].job, job);
    EXPECT_EQ(entries[1].job, job);
    EXPECT_EQ(entries[1].reference, "hold:" + to_string(job));
    EXPECT_EQ(entries[3].job, std::nullopt);
    EXPECT_EQ(entries[0].at, books.clock.now());
    EXPECT_EQ(page(books, rental.host, 20).size(), 1U) << "and no one else's";
}

TEST(Statement, PagesHaveNoGapAndNoRepeatWhileEntriesArrive) {
    Books books;
    Rental rental(books, 1'000'000);
    for (int i = 0; i < 30; ++i) rental.run(1000, 600 + i);
    for (int i = 0; i < 20; ++i) books.deposit(rental.renter, 3, Asset::usdt);
    const auto all = page(books, rental.renter, 1000);
    ASSERT_EQ(all.size(), 1U + 30 * 5 + 20);
    const Mark first = lines(books, rental.renter, std::nullopt, 1).at(0).mark;
    for (const std::int64_t rows_max : {1, 2, 7, 20, 1000}) {
        std::vector<Entry> read{all[0]};
        std::optional<Mark> before = first;
        for (;;) {
            const auto entries = lines(books, rental.renter, before, rows_max);
            if (entries.empty()) break;
            ASSERT_LE(static_cast<std::int64_t>(entries.size()), rows_max);
            before = entries.back().mark;
            for (const StatementLine& line : entries) read.push_back(line.entry);
            // Above the mark, on no page of this reading.
            books.deposit(rental.renter, 1);
            books.deposit(rental.renter, 1, Asset::usdt);
        }
        ASSERT_EQ(read.size(), all.size()) << rows_max;
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_EQ(read[i].transaction, all[i].transaction);
            EXPECT_EQ(read[i].ordinal, all[i].ordinal);
        }
    }
}

// A transaction takes its time and id when it begins, and may commit after others that began later.
// Whoever has read their entries looks for news above them, and must find it there.
TEST(Statement, WhatCommitsLateStandsAboveEverythingThatWasRead) {
    Books books;
    const auto account = books.make_id<AccountId>();
    books.deposit(account, 1);
    const Time early = books.clock.now();
    books.clock.advance(std::chrono::seconds(5));
    books.deposit(account, 3);
    books.clock.advance(std::chrono::seconds(5));
    books.deposit(account, 4);
    const auto read = lines(books, account, std::nullopt, 2);
    books.database->write([&](db::Transaction& tx) {
        ledger::deposit({tx, books.random, early + std::chrono::seconds(7)},
                        {account, Asset::usdc, Micro{2}, "late"});
    });
    const auto amounts = [](const std::vector<StatementLine>& some) {
        std::vector<std::int64_t> values;
        for (const StatementLine& line : some) values.push_back(line.entry.amount.value);
        return values;
    };
    EXPECT_EQ(amounts(read), (std::vector<std::int64_t>{4, 3}));
    EXPECT_EQ(amounts(lines(books, account, read.back().mark, 9)), (std::vector<std::int64_t>{1}));
    EXPECT_EQ(amounts(lines(books, account, std::nullopt, 9)),
              (std::vector<std::int64_t>{2, 4, 3, 1}));
    EXPECT_TRUE(books.check().sound());
}

// Renters whose jobs run on one host, all at once: every entry has a place of its own, and the days
// add up.
TEST(Statement, PlacesAndDaysHoldWhileManyPost) {
    Books books;
    const auto host = books.make_id<AccountId>();
    const auto machine = books.make_id<MachineId>();
    constexpr int renters = 6;
    constexpr int jobs = 5;
    std::vector<std::thread> threads;
    const Time now = books.clock.now();
    for (int i = 0; i < renters; ++i)
        threads.emplace_back([&, i] {
            SeededRandom random(static_cast<std::uint64_t>(i) + 100);
            const auto post = [&](auto&& function) {
                books.database->write([&](db::Transaction& tx) {
                    function(ledger::Context{tx, random, now});
                });
            };
            const auto renter = AccountId::make(now, random);
            post([&](ledger::Context context) {
                ledger::deposit(context, {renter, Asset::usdc, Micro{10'000}, to_string(renter)});
            });
            for (int round = 0; round < jobs; ++round) {
                const auto job = JobId::make(now, random);
                post([&](ledger::Context context) {
                    ledger::hold(context, {job, renter, host, machine, Asset::usdc, Micro{1000},
                                           Micro{3'600'000}, 1000});
                });
                for (const std::int64_t charge : {400, 1000})
                    post([&](ledger::Context context) {
                        ledger::capture(context, job, {Micro{charge}, charge});
                    });
                post([&](ledger::Context context) { ledger::release(context, job); });
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(page(books, host, 1000).size(), 2U * renters * jobs);
    const auto today = ledger::day_of(now);
    EXPECT_EQ(earnings(books, host, {today, today}).at(0).earned, Micro{900 * renters * jobs});
    EXPECT_EQ(earnings(books, host, {today, today}).at(0).rentals, renters * jobs);
    const ledger::Report report = books.check();
    EXPECT_TRUE(report.sound()) << to_text(report);
}

TEST(Statement, ShowsBothAssets) {
    Books books;
    const auto account = books.make_id<AccountId>();
    books.deposit(account, 5, Asset::usdc);
    books.deposit(account, 7, Asset::usdt);
    const auto entries = page(books, account, 20);
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].asset, Asset::usdt);
    EXPECT_EQ(entries[1].asset, Asset::usdc);
}

TEST(EntriesOfAJob, AreAllItsMovementsOldestFirst) {
    Books books;
    Rental rental(books);
    rental.run(500, 400);  // another job's, which do not count
    const JobId job = rental.run(1000, 600);
    rental.refund(job, 100);
    const auto entries =
        books.database->read([&](db::Transaction& tx) { return ledger::entries_of(tx, job, 100); });
    std::vector<Kind> kinds;
    Micro sum;
    for (const Entry& entry : entries) {
        kinds.push_back(entry.kind);
        sum += entry.amount;
        EXPECT_EQ(entry.job, job);
    }
    EXPECT_EQ(kinds,
              (std::vector{Kind::hold, Kind::hold, Kind::job_charge, Kind::host_earning,
                           Kind::platform_fee, Kind::hold_release, Kind::hold_release, Kind::refund,
                           Kind::refund_host_reversal, Kind::refund_fee_reversal}));
    EXPECT_EQ(sum, Micro{0});
    const auto first =
        books.database->read([&](db::Transaction& tx) { return ledger::entries_of(tx, job, 3); });
    ASSERT_EQ(first.size(), 3U);
    EXPECT_EQ(first[2].kind, Kind::job_charge);
}

TEST(Earnings, HaveARowForEveryDay) {
    Books books;
    Rental rental(books);
    const std::int64_t first = today(books);
    rental.run(1000, 1000);
    rental.run(1000, 500);
    books.clock.advance(2 * day_length);
    rental.run(1000, 70);
    const auto days = earnings(books, rental.host, {first - 1, first + 3});
    ASSERT_EQ(days.size(), 5U);
    const std::vector<std::int64_t> earned{0, 1350, 0, 63, 0};
    const std::vector<std::int64_t> fees{0, 150, 0, 7, 0};
    const std::vector<std::int64_t> rentals{0, 2, 0, 1, 0};
    for (std::size_t i = 0; i < days.size(); ++i) {
        EXPECT_EQ(days[i].day, first - 1 + static_cast<std::int64_t>(i));
        EXPECT_EQ(days[i].earned, Micro{earned[i]}) << i;
        EXPECT_EQ(days[i].fee, Micro{fees[i]}) << i;
        EXPECT_EQ(days[i].rentals, rentals[i]) << i;
        EXPECT_EQ(days[i].paid, Micro{0});
    }
    EXPECT_EQ(earnings(books, rental.host, {first, first}).at(0).earned, Micro{1350});
    EXPECT_EQ(earnings(books, rental.renter, {first, first}).at(0).earned, Micro{0});
}

TEST(Earnings, AreBelowZeroOnADayOfRefunds) {
    Books books;
    Rental rental(books);
    const std::int64_t first = today(books);
    const JobId job = rental.run(1000, 1000);
    books.clock.advance(day_length);
    rental.run(200, 100);
    rental.refund(job, 1000);
    const auto days = earnings(books, rental.host, {first, first + 1});
    EXPECT_EQ(days[0].earned, Micro{900});
    EXPECT_EQ(days[1].earned, Micro{90 - 900});
    EXPECT_EQ(days[1].fee, Micro{10 - 100});
    EXPECT_EQ(days[1].rentals, 1);
    EXPECT_EQ(spent(books, rental.renter, {first, first}), Micro{1000});
    EXPECT_EQ(spent(books, rental.renter, {first + 1, first + 1}), Micro{100 - 1000});
    EXPECT_EQ(spent(books, rental.renter, {first, first + 1}), Micro{100});
}

TEST(Earnings, CountARentalOnEveryDayItEarned) {
    Books books;
    Rental rental(books);
    const std::int64_t first = today(books);
    const JobId job = rental.begin(1000);
    for (const std::int64_t charge : {100, 200, 300}) rental.capture(job, charge);
    books.clock.advance(day_length);
    rental.capture(job, 450);
    const auto days = earnings(books, rental.host, {first, first + 1});
    EXPECT_EQ(days[0].rentals, 1);
    EXPECT_EQ(days[1].rentals, 1);
    EXPECT_EQ(days[0].earned, Micro{270});
    EXPECT_EQ(days[1].earned, Micro{135});
}

TEST(Earnings, BelongToTheDayInUtc) {
    Books books;
    Rental rental(books);
    const JobId job = rental.begin(1000, 0);
    // Two microseconds before midnight; every write moves the clock by one.
    const Time begin = books.clock.now();
    const std::int64_t first = today(books);
    const std::int64_t midnight = (first + 1) * 86'400'000'000;
    books.clock.advance(std::chrono::microseconds(midnight - 2 - begin.micros));
    rental.capture(job, 100);  // the last microsecond of the day
    EXPECT_EQ(books.clock.now().micros, midnight - 1);
    rental.capture(job, 130);  // the first of the next
    const auto days = earnings(books, rental.host, {first, first + 1});
    EXPECT_EQ(days[0].earned, Micro{100});
    EXPECT_EQ(days[1].earned, Micro{30});
    EXPECT_EQ(spent(books, rental.renter, {first, first}), Micro{100});
}

TEST(Earnings, SayWhatWasPaidOut) {
    Books books;
    Rental rental(books);
    const std::int64_t first = today(books);
    rental.run(1000, 1000);
    books.clock.advance(day_length);
    pay_out(books, rental.host, 400);
    pay_out(books, rental.host, 30);
    const auto returned = books.make_id<ledger::TransferId>();
    books.write([&](ledger::Context context) {
        ledger::lock(context, {returned, rental.host, Asset::usdc, Micro{50}, Source::payout});
    });
    books.write([&](ledger::Context context) { ledger::give_back(context, returned); });
    const auto days = earnings(books, rental.host, {first, first + 1});
    EXPECT_EQ(days[0].paid, Micro{0});
    EXPECT_EQ(days[1].paid, Micro{430});
    EXPECT_EQ(days[1].earned, Micro{0});
}

TEST(Earnings, OfAMachineAreThoseOfItsJobs) {
    Books books;
    Rental one(books);
    Rental two(books);
    two.host = one.host;  // the same host, another machine
    const std::int64_t day = today(books);
    one.run(1000, 1000);
    const JobId job = two.run(1000, 500);
    two.refund(job, 100);
    const auto of_machine = [&](MachineId machine) {
        return books.database->read([&](db::Transaction& tx) {
            return ledger::earnings_by_day(tx, machine, Asset::usdc, {day, day}).at(0);
        });
    };
    EXPECT_EQ(of_machine(one.machine).earned, Micro{900});
    EXPECT_EQ(of_machine(one.machine).rentals, 1);
    EXPECT_EQ(of_machine(two.machine).earned, Micro{360});
    EXPECT_EQ(of_machine(two.machine).fee, Micro{40});
    EXPECT_EQ(earnings(books, one.host, {day, day}).at(0).earned, Micro{1260});
    EXPECT_EQ(earnings(books, one.host, {day, day}).at(0).rentals, 2);
}

TEST(Earnings, KeepAssetsApart) {
    Books books;
    Rental rental(books);
    const std::int64_t day = today(books);
    rental.run(1000, 1000);
    const auto in_usdt = books.database->read([&](db::Transaction& tx) {
        return ledger::earnings_by_day(tx, rental.host, Asset::usdt, {day, day}).at(0);
    });
    EXPECT_EQ(in_usdt.earned, Micro{0});
    const Micro spent_in_usdt = books.database->read([&](db::Transaction& tx) {
        return ledger::spent(tx, rental.renter, Asset::usdt, {day, day});
    });
    EXPECT_EQ(spent_in_usdt, Micro{0});
}

}  // namespace
}  // namespace berth::test
