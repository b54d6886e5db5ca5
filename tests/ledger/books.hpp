// A ledger in a database of its own, and shorthand for what tests do with it.
#pragma once

#include "base/problem.hpp"
#include "ledger/check.hpp"
#include "ledger/days.hpp"
#include "ledger/statement.hpp"
#include "server/schema.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"

namespace berth::test {

struct Books {
    Books() { db::migrate(*database, server::schema()); }

    TestDatabase file;
    std::unique_ptr<db::Database> database = file.open();
    ManualClock clock;
    SeededRandom random;

    template <class SomeId>
    SomeId make_id() {
        return SomeId::make(clock.now(), random);
    }

    template <class Function>
    auto write(Function&& function) {
        clock.advance(std::chrono::microseconds(1));
        return database->write([&](db::Transaction& tx) {
            return function(ledger::Context{tx, random, clock.now()});
        });
    }

    void deposit(AccountId account, std::int64_t amount,
                 ledger::Asset asset = ledger::Asset::usdc) {
        const auto reference = to_string(make_id<RequestId>());
        write([&](ledger::Context context) {
            ledger::deposit(context, {account, asset, Micro{amount}, reference});
        });
    }

    ledger::Balances balances(AccountId account, ledger::Asset asset = ledger::Asset::usdc) {
        return database->read(
            [&](db::Transaction& tx) { return ledger::balances(tx, account, asset); });
    }

    ledger::Report check() {
        return database->read([](db::Transaction& tx) { return ledger::check_ledger(tx); });
    }
};

// A renter, a host and a machine, and jobs between them.
struct Rental {
    explicit Rental(Books& books_, std::int64_t funds = 10'000'000) : books(books_) {
        books.deposit(renter, funds);
    }

    JobId begin(std::int64_t budget, std::int64_t fee_bps = 1000, std::int64_t delay_hours = 0) {
        const auto job = books.make_id<JobId>();
        books.write([&](ledger::Context context) {
            // At this rate a job costs a micro-unit a millisecond.
            ledger::hold(context, {job, renter, host, machine, ledger::Asset::usdc, Micro{budget},
                                   Micro{3'600'000}, fee_bps, delay_hours});
        });
        return job;
    }
    void capture(JobId job, std::int64_t charge) {
        books.write([&](ledger::Context context) {
            ledger::capture(context, job, {Micro{charge}, charge});
        });
    }
    void release(JobId job) {
        books.write([&](ledger::Context context) { ledger::release(context, job); });
    }
    JobId run(std::int64_t budget, std::int64_t charge, std::int64_t fee_bps = 1000) {
        const JobId job = begin(budget, fee_bps);
        capture(job, charge);
        release(job);
        return job;
    }
    ledger::Refunded refund(JobId job, std::int64_t amount,
                            std::optional<ledger::Bearer> bearer = {}) {
        const auto id = books.make_id<ledger::RefundId>();
        return books.write([&](ledger::Context context) {
            return ledger::refund(context, {id, job, Micro{amount}, bearer});
        });
    }
    void pay_out(std::int64_t amount) {
        const auto transfer = books.make_id<ledger::TransferId>();
        books.write([&](ledger::Context context) {
            ledger::lock(context, {transfer, host, ledger::Asset::usdc, Micro{amount},
                                   ledger::Source::payout});
        });
        books.write([&](ledger::Context context) { ledger::settle(context, transfer); });
    }

    Books& books;
    AccountId renter = books.make_id<AccountId>();
    AccountId host = books.make_id<AccountId>();
    MachineId machine = books.make_id<MachineId>();
};

// The code of the Problem that `function` ends in; empty when it ends well.
template <class Function>
std::optional<Code> refusal(Function&& function) {
    try {
        function();
    } catch (const Problem& problem) {
        return problem.code;
    }
    return std::nullopt;
}

}  // namespace berth::test
