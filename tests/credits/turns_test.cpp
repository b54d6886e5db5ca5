// Two that want the same credit at once wait for each other in one order, and not in a circle.
#include <atomic>
#include <functional>
#include <future>

#include "credits/campaigns.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

// One of the campaign's credits, of 400, is Ada's.
struct CreditTurns : Campaigns {
    using Act = std::function<void(ledger::Context)>;

    CreditTurns() {
        put_in(1000);
        EXPECT_EQ(begin("LAUNCH-1", 1000, 400).status, 201);
        pay_in(ada, 1);
        EXPECT_EQ(redeem(ada, "LAUNCH-1").status, 201);
    }
    db::Database& database() { return town.harness.app->database(); }
    void attempt(const Act& act) {
        database().write([&](db::Transaction& tx) {
            ++attempts;
            act({tx, town.harness.random, town.harness.clock.now()});
        });
    }
    // The other begins when the first has half done its work, and goes on until it waits.
    std::optional<Code> meet(const Act& half, const Act& rest, const Act& other) {
        std::promise<void> begun;
        std::promise<void> go_on;
        auto first = std::async(std::launch::async, [&] {
            attempt([&](ledger::Context context) {
                half(context);
                begun.set_value();
                go_on.get_future().wait();
                rest(context);
            });
        });
        EXPECT_EQ(begun.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
        std::atomic<bool> over = false;
        auto second = std::async(std::launch::async, [&] {
            std::optional<Code> refused;
            try {
                attempt(other);
            } catch (const Problem& problem) {
                refused = problem.code;
            }
            over = true;
            return refused;
        });
        if (database().engine() == db::Engine::postgres) {
            EXPECT_TRUE(support::eventually([&] {
                return over.load() || database().read([](db::Transaction& tx) {
                    return tx.fetch_value<std::int64_t>(
                                 "SELECT COUNT(*) FROM pg_locks WHERE NOT granted")
                               .value() > 0;
                });
            }));
        }
        go_on.set_value();
        first.get();
        return second.get();
    }
    void reserve(ledger::Context context, JobId id) {
        const Micro credit = credits::take(context, {renter, ledger::Asset::usdc, id, Micro{100}});
        ledger::hold(context, {id, renter, host, MachineId{id.uuid}, ledger::Asset::usdc,
                               Micro{100}, Micro{3'600'000}, 1000, 0, credit});
    }

    std::atomic<int> attempts = 0;  // one that is begun anew counts again
    Browser hal = town.person("hal@example.org");
    AccountId renter = account(ada);
    AccountId host = account(hal);
};

TEST_F(CreditTurns, ARentalThatBeginsWaitsForOneThatEnds) {
    const auto ending = JobId::make(town.harness.clock.now(), town.harness.random);
    const auto beginning = JobId::make(town.harness.clock.now(), town.harness.random);
    book([&](ledger::Context context) { reserve(context, ending); });
    Micro unspent;
    const auto refused =
        meet([&](ledger::Context context) { unspent = ledger::release(context, ending); },
             [&](ledger::Context context) { credits::give_back(context.tx, ending, unspent); },
             [&](ledger::Context context) { reserve(context, beginning); });
    EXPECT_EQ(refused, std::nullopt);
    EXPECT_EQ(unspent, Micro{100});
    EXPECT_EQ(attempts, 2);
}

TEST_F(CreditTurns, WhatExpiresWaitsForARefund) {
    const JobId over = job_on_credit(renter, host, 200, 100);
    town.harness.clock.advance(std::chrono::hours(24 * 11));
    const auto id = ledger::RefundId::make(town.harness.clock.now(), town.harness.random);
    ledger::Refunded made;
    const auto refused = meet(
        [&](ledger::Context context) {
            made = ledger::refund(context, {id, over, Micro{50}});
        },
        [&](ledger::Context context) { credits::give_back(context.tx, over, made.to_credit); },
        [&](ledger::Context context) { credits::expire_credits(context, 100); });
    EXPECT_EQ(refused, std::nullopt);
    EXPECT_EQ(attempts, 2);
    book([&](ledger::Context context) { credits::expire_credits(context, 100); });
    EXPECT_EQ(capital(), Micro{350}) << "the whole rest, whoever came first";
}

// Whoever has a credit rents without a balance, so that closing finds nothing in the account.
TEST_F(CreditTurns, NothingIsRentedForAnAccountThatIsBeingClosed) {
    const auto id = JobId::make(town.harness.clock.now(), town.harness.random);
    const auto refused = meet(
        [&](ledger::Context context) {
            accounts::take_turn(context.tx, renter);
            context.tx.run("UPDATE accounts SET suspended = 1 WHERE account_id = $1", renter);
        },
        [](ledger::Context) {}, [&](ledger::Context context) { reserve(context, id); });
    EXPECT_EQ(refused, Code::forbidden);
    EXPECT_EQ(balances(renter).held, Micro{});
}

}  // namespace
}  // namespace berth::test
