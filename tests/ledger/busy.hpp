// A ledger with something of everything, for tests that alter it.
#pragma once

#include "ledger/books.hpp"

namespace berth::test {

// A ledger in which everything has happened at least once.
struct Busy {
    Busy() {
        deposit(ledger::deposit, renter, ledger::Asset::usdc, 10'000, "one");
        deposit(ledger::deposit, other, ledger::Asset::usdt, 5'000, "two");
        deposit(ledger::park, {}, ledger::Asset::usdc, 77, "three");
        deposit(ledger::match, renter, ledger::Asset::usdc, 77, "three");
        deposit(ledger::park, {}, ledger::Asset::usdc, 33, "four");
        job = run(host, 1000, 600);
        books.write([&](auto context) { ledger::refund(context, {refund, job, Micro{100}}); });
        for (const auto& its : {std::pair(open_dispute, 50), std::pair(ended_dispute, 60)})
            books.write([&](auto context) {
                ledger::dispute(context, {its.first, job, Micro{its.second}});
            });
        books.write([&](auto context) { ledger::end_dispute(context, ended_dispute); });
        hold(books.make_id<JobId>(), host, 300);
        run(quiet_host, 200, 200);
        transfers(renter, ledger::Source::withdrawal, 400);
        transfers(host, ledger::Source::payout, 70);
    }

    template <class Function>
    void deposit(Function function, AccountId account, ledger::Asset asset, std::int64_t amount,
                 const char* reference) {
        books.write([&](ledger::Context context) {
            function(context, ledger::Deposit{account, asset, Micro{amount}, reference});
        });
    }
    void hold(JobId id, AccountId to, std::int64_t budget) {
        books.write([&](ledger::Context context) {
            ledger::hold(context, {id, renter, to, machine, ledger::Asset::usdc, Micro{budget},
                                   Micro{3'600'000}, 1000});
        });
    }
    JobId run(AccountId to, std::int64_t budget, std::int64_t charge) {
        const auto id = books.make_id<JobId>();
        hold(id, to, budget - 10);
        books.write([&](auto context) { ledger::raise_hold(context, id, Micro{10}, 1); });
        books.write([&](auto context) { ledger::capture(context, id, {Micro{charge}, charge}); });
        books.write([&](auto context) { ledger::release(context, id); });
        return id;
    }
    // One that stays open, one that is settled and one that is returned.
    void transfers(AccountId account, ledger::Source source, std::int64_t amount) {
        for (int i = 0; i < 3; ++i) {
            const auto id = books.make_id<ledger::TransferId>();
            books.write([&](auto context) {
                ledger::lock(context,
                             {id, account, ledger::Asset::usdc, Micro{amount + i}, source});
            });
            if (i == 1) books.write([&](auto context) { ledger::settle(context, id); });
            if (i == 2) books.write([&](auto context) { ledger::give_back(context, id); });
        }
    }

    Books books;
    AccountId renter = books.make_id<AccountId>();
    AccountId host = books.make_id<AccountId>();
    AccountId quiet_host = books.make_id<AccountId>();  // has earned and done nothing else
    AccountId other = books.make_id<AccountId>();
    MachineId machine = books.make_id<MachineId>();
    ledger::RefundId refund = books.make_id<ledger::RefundId>();
    ledger::DisputeId open_dispute = books.make_id<ledger::DisputeId>();
    ledger::DisputeId ended_dispute = books.make_id<ledger::DisputeId>();
    JobId job;
};

// The report after `script`, of which nothing remains.
inline ledger::Report report_after(Books& books, const std::string& script,
                                   const ledger::CheckOptions& options = {}) {
    struct Undo {};
    ledger::Report report;
    try {
        books.database->write([&](db::Transaction& tx) {
            tx.script(script);
            report = ledger::check_ledger(tx, options);
            throw Undo();
        });
    } catch (const Undo&) {
    }
    return report;
}

}  // namespace berth::test
