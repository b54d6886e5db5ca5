#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "ledger/ledger.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

// A renter and a host, both agents, and jobs between them as the rentals feature will post them.
struct BillingRoutes : ::testing::Test {
    struct Party {
        std::string key;
        AccountId account;
    };
    Party party(const std::string& scopes) {
        const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), scopes);
        EXPECT_EQ(made.status, 201) << made.body;
        return {member(made.body, "api_key.secret"),
                {parse_uuid(member(made.body, "account_id")).value()}};
    }
    template <class Function>
    auto post(Function function) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        return town.harness.app->database().write([&](db::Transaction& tx) {
            return function(ledger::Context{tx, town.harness.random, town.harness.clock.now()});
        });
    }
    void deposit(const Party& who, std::int64_t amount) {
        const std::string reference = town.harness.new_id();
        post([&](ledger::Context context) {
            ledger::deposit(context, {who.account, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    JobId hold(std::int64_t budget) {
        const auto job = JobId::make(town.harness.clock.now(), town.harness.random);
        post([&](ledger::Context context) {
            ledger::hold(context, {job, renter.account, host.account, machine, ledger::Asset::usdc,
                                   Micro{budget}, Micro{3'600'000}, 1000});
        });
        return job;
    }
    void capture(JobId job, std::int64_t charge) {
        post([&](ledger::Context context) {
            ledger::capture(context, job, {Micro{charge}, charge});
        });
    }
    JobId run(std::int64_t budget, std::int64_t charge) {
        const JobId job = hold(budget);
        capture(job, charge);
        post([&](ledger::Context context) { ledger::release(context, job); });
        return job;
    }
    void refund(JobId job, std::int64_t amount) {
        const auto id = ledger::RefundId::make(town.harness.clock.now(), town.harness.random);
        post([&](ledger::Context context) { ledger::refund(context, {id, job, Micro{amount}}); });
    }
    std::string get(const Party& who, const std::string& target) {
        const auto answer = town.with_key(who.key, "GET", target);
        EXPECT_EQ(answer.status, 200) << answer.body;
        EXPECT_EQ(answer.headers.find("Cache-Control"), "private, no-store");
        return answer.body;
    }

    Town town;
    Party renter = party(R"(["renter"])");
    Party host = party(R"(["host"])");
    MachineId machine = enrolled(town.harness, host.account).machine_id;
};

TEST_F(BillingRoutes, BalancesComeFromTheLedger) {
    deposit(renter, 10'000);
    run(2000, 1500);
    hold(3000);
    const std::string shown = get(renter, "/api/v1/billing");
    EXPECT_EQ(member(shown, "asset"), "USDC");
    EXPECT_EQ(member(shown, "spendable_micro"), "5500");
    EXPECT_EQ(member(shown, "withdrawable_micro"), "5500");
    EXPECT_EQ(member(shown, "held_micro"), "3000");
    EXPECT_EQ(member(shown, "pending_micro"), "0");
    EXPECT_EQ(member(shown, "disputed_micro"), "0");
    EXPECT_EQ(member(shown, "spent_30d_micro"), "1500");
    EXPECT_EQ(member(get(renter, "/api/v1/billing?asset=USDT"), "spendable_micro"), "0");
    town.harness.clock.advance(std::chrono::hours(24 * 31));
    EXPECT_EQ(member(get(renter, "/api/v1/billing"), "spent_30d_micro"), "0");
}

TEST_F(BillingRoutes, AReceiptAddsUp) {
    deposit(renter, 10'000);
    const JobId job = hold(5000);
    const std::string path = "/api/v1/billing/receipts/" + to_string(job);
    EXPECT_EQ(member(get(renter, path), "charge_micro"), "0");
    capture(job, 1239);
    const std::string receipt = get(renter, path);
    EXPECT_EQ(member(receipt, "charge_micro"), "1239");
    EXPECT_EQ(member(receipt, "fee_micro"), "123");
    EXPECT_EQ(member(receipt, "host_micro"), "1116");
    EXPECT_EQ(member(receipt, "funded_budget_micro"), "5000");
    EXPECT_EQ(member(receipt, "platform_fee_bps"), "1000");
    EXPECT_EQ(member(receipt, "accepted_runtime_ms"), "1239");
    EXPECT_EQ(member(receipt, "machine_rate_micro_per_hour"), "3600000");
    EXPECT_EQ(member(receipt, "supplier.account_id"), to_string(host.account));
    EXPECT_EQ(member(receipt, "operator.name"), "Berth");
    EXPECT_EQ(member(receipt, "entries.0.kind"), "hold");
    EXPECT_EQ(member(receipt, "entries.1.kind"), "job_charge");
    EXPECT_EQ(member(receipt, "entries.2.kind"), "host_earning");
    EXPECT_EQ(member(receipt, "entries.3.kind"), "platform_fee");
    // The host reads earnings instead; strangers learn nothing.
    EXPECT_EQ(town.with_key(host.key, "GET", path).status, 403);
    EXPECT_EQ(town.with_key(party(R"(["renter"])").key, "GET", path).status, 404);
}

TEST_F(BillingRoutes, AReceiptShowsRefundsAndTheAmountsOfItsEntries) {
    deposit(renter, 10'000);
    const JobId job = run(5000, 1239);
    const std::string path = "/api/v1/billing/receipts/" + to_string(job);
    const std::string before = get(renter, path);
    EXPECT_EQ(member(before, "refunds"), "[]");
    EXPECT_EQ(member(before, "refunded_micro"), "0");
    const auto line = [](const std::string& receipt, int index) {
        const std::string entry = "entries." + std::to_string(index) + ".";
        return member(receipt, entry + "kind") + " " + member(receipt, entry + "direction") + " " +
               member(receipt, entry + "amount_micro");
    };
    EXPECT_EQ(line(before, 0), "hold debit 5000");
    EXPECT_EQ(line(before, 1), "job_charge debit 1239");
    EXPECT_EQ(line(before, 2), "host_earning credit 1116");
    EXPECT_EQ(line(before, 3), "platform_fee credit 123");
    EXPECT_EQ(line(before, 4), "hold_release credit 3761");
    refund(job, 239);
    refund(job, 1000);
    const std::string after = get(renter, path);
    EXPECT_EQ(member(after, "charge_micro"), "1239") << "the charge stays what it was";
    EXPECT_EQ(member(after, "refunded_micro"), "1239");
    EXPECT_EQ(member(after, "refunds.0.amount_micro"), "239");
    EXPECT_EQ(member(after, "refunds.0.host_micro"), "216");
    EXPECT_EQ(member(after, "refunds.0.fee_micro"), "23");
    EXPECT_EQ(member(after, "refunds.1.amount_micro"), "1000");
    EXPECT_EQ(member(after, "refunds.1.fee_micro"), "100");
    EXPECT_EQ(member(after, "entries.5.external_ref"),
              "refund:" + member(after, "refunds.0.refund_id"));
    EXPECT_EQ(line(after, 5), "refund credit 239");
    EXPECT_EQ(line(after, 6), "refund_host_reversal debit 216");
}

TEST_F(BillingRoutes, EntriesComeNewestFirstWithoutGapOrRepeat) {
    deposit(renter, 100'000);
    for (int i = 0; i < 12; ++i) run(500, 100 + i);
    std::vector<std::string> seen;
    std::string cursor;
    for (int pages = 0; pages < 20; ++pages) {
        const std::string page = get(renter, "/api/v1/billing/entries?limit=7" +
                                                 (cursor.empty() ? "" : "&cursor=" + cursor));
        for (int i = 0; i < 7; ++i) {
            const std::string id = member(page, "items." + std::to_string(i) + ".entry_id");
            if (!id.empty()) seen.push_back(id);
        }
        if (pages == 1) run(500, 7);  // what comes meanwhile does not disturb
        cursor = member(page, "next_cursor");
        if (cursor == "null") break;
    }
    // A deposit, and for each job hold (two), charge and release (two) on the renter's side.
    EXPECT_EQ(seen.size(), 1U + 12 * 5);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(town.with_key(renter.key, "GET",
                            "/api/v1/billing/entries?account_id=" + to_string(host.account))
                  .status,
              403);
    // A key that is a host's alone reads earnings, and nothing of what its account rents.
    for (const std::string path : {"/api/v1/billing", "/api/v1/billing/entries"})
        EXPECT_EQ(town.with_key(host.key, "GET", path).status, 403) << path;
}

TEST_F(BillingRoutes, AnAdminReadsAnybodysEntries) {
    deposit(renter, 77);
    town.harness.app->database().write([&](db::Transaction& tx) {
        accounts::make_admin({tx, town.harness.random, town.harness.clock.now()},
                             "root@example.org");
    });
    Browser root = town.person("root@example.org");
    root.enroll();
    const auto page =
        root.send("GET", "/api/v1/billing/entries?account_id=" + to_string(renter.account));
    EXPECT_EQ(member(page.body, "items.0.amount_micro"), "77") << page.body;
    const JobId job = run(50, 20);
    EXPECT_EQ(root.send("GET", "/api/v1/billing/receipts/" + to_string(job)).status, 200);
}

TEST_F(BillingRoutes, EarningsTellWhereTheMoneyIs) {
    deposit(renter, 100'000);
    const JobId job = run(10'000, 10'000);
    run(5000, 5000);
    const std::string earnings = get(host, "/api/v1/hosts/earnings");
    EXPECT_EQ(member(earnings, "earned_micro"), "13500");
    EXPECT_EQ(member(earnings, "gross_micro"), "15000");
    EXPECT_EQ(member(earnings, "fee_micro"), "1500");
    EXPECT_EQ(member(earnings, "fee_bps"), "1000");
    EXPECT_EQ(member(earnings, "payable_micro"), "13500");
    EXPECT_EQ(member(earnings, "window_days"), "30");
    EXPECT_EQ(member(earnings, "days.29.rental_count"), "2");
    EXPECT_EQ(member(earnings, "days.29.earned_micro"), "13500");
    EXPECT_EQ(member(earnings, "days.0.earned_micro"), "0");
    EXPECT_EQ(member(earnings, "days.30.day"), "");
    EXPECT_EQ(member(earnings, "days.29.day"), to_rfc3339(town.harness.clock.now()).substr(0, 10));
    EXPECT_EQ(member(earnings, "from"), member(earnings, "days.0.day") + "T00:00:00Z");
    EXPECT_EQ(member(earnings, "to"), to_rfc3339(town.harness.clock.now()));
    EXPECT_EQ(member(get(host, "/api/v1/hosts/earnings?asset=USDT"), "earned_micro"), "0");

    // The fee of what was earned is the one of its time.
    town.harness.set("money.platform_fee_bps", "5000");
    EXPECT_EQ(member(get(host, "/api/v1/hosts/earnings"), "fee_micro"), "1500");
    EXPECT_EQ(member(get(host, "/api/v1/hosts/earnings"), "fee_bps"), "5000");

    // A refund on a later day makes that day negative.
    town.harness.clock.advance(std::chrono::hours(24));
    refund(job, 4000);
    const std::string later = get(host, "/api/v1/hosts/earnings");
    EXPECT_EQ(member(later, "days.29.earned_micro"), "-3600");
    EXPECT_EQ(member(later, "days.29.fee_micro"), "-400");
    EXPECT_EQ(member(later, "days.28.earned_micro"), "13500");
    EXPECT_EQ(member(later, "earned_micro"), "9900");
}

TEST_F(BillingRoutes, EarningsMatureBeforeTheyArePayable) {
    deposit(renter, 100'000);
    run(5000, 5000);
    const auto job = JobId::make(town.harness.clock.now(), town.harness.random);
    post([&](ledger::Context context) {
        ledger::hold(context, {job, renter.account, host.account, machine, ledger::Asset::usdc,
                               Micro{10'000}, Micro{3'600'000}, 1000, 24});
        ledger::capture(context, job, {Micro{10'000}, 10'000});
        ledger::release(context, job);
    });
    const Time ripe = town.harness.clock.now() + std::chrono::hours(24);
    town.harness.set("money.payout_delay_hours", "36");
    const std::string young = get(host, "/api/v1/hosts/earnings");
    EXPECT_EQ(member(young, "earned_micro"), "13500");
    EXPECT_EQ(member(young, "maturing_micro"), "9000");
    EXPECT_EQ(member(young, "payable_micro"), "4500");
    EXPECT_EQ(member(young, "payout_delay_hours"), "36") << "of new rentals";
    EXPECT_EQ(member(young, "next_payable_at").substr(0, 16), to_rfc3339(ripe).substr(0, 16));
    const std::string path = "/api/v1/hosts/machines/" + to_string(machine) + "/earnings";
    EXPECT_EQ(member(get(host, path), "payout_delay_hours"), "36");
    town.harness.clock.advance(std::chrono::hours(24));
    const std::string later = get(host, "/api/v1/hosts/earnings");
    EXPECT_EQ(member(later, "maturing_micro"), "0");
    EXPECT_EQ(member(later, "payable_micro"), "13500");
    EXPECT_EQ(member(later, "next_payable_at"), "null");
}

TEST_F(BillingRoutes, AMachinesEarningsAreItsOwnersAlone) {
    deposit(renter, 100'000);
    run(1000, 1000);
    const std::string path = "/api/v1/hosts/machines/" + to_string(machine) + "/earnings";
    const std::string none = "/api/v1/hosts/machines/" +
                             to_string(enrolled(town.harness, host.account).machine_id) +
                             "/earnings";
    EXPECT_EQ(member(get(host, none), "days.29.earned_micro"), "0");
    EXPECT_EQ(town.with_key(renter.key, "GET", none).status, 404);
    const std::string shown = get(host, path + "?window=7d");
    EXPECT_EQ(member(shown, "window_days"), "7");
    EXPECT_EQ(member(shown, "from").substr(0, 10), member(shown, "days.0.day"));
    EXPECT_EQ(member(get(host, path + "?window=1d"), "window_days"), "1");
    EXPECT_EQ(member(get(host, path + "?window=365d"), "window_days"), "365");
    EXPECT_EQ(member(shown, "days.6.earned_micro"), "900");
    EXPECT_EQ(member(shown, "days.6.paid_micro"), "0");
    EXPECT_EQ(member(get(host, path), "window_days"), "30");
    EXPECT_EQ(town.with_key(renter.key, "GET", path).status, 404);
    EXPECT_EQ(town.with_key(party(R"(["host"])").key, "GET", path).status, 404);
    happen(town.harness, machine, machines::MachineEvent::retire);
    EXPECT_EQ(member(get(host, path), "days.29.earned_micro"), "900");
    for (const std::string window : {"0d", "366d", "7", "d", "7h", "-1d", "07d", "", "1.5d"}) {
        const auto answer = town.with_key(host.key, "GET", path + "?window=" + window);
        EXPECT_EQ(answer.status, 422) << window;
        EXPECT_NE(error_message(answer).find("query.window"), std::string::npos);
    }
}

}  // namespace
}  // namespace berth::test
