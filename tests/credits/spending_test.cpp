// A credit pays for rentals before the balance does, comes back as a credit, and is never money
// that somebody can take out: neither the renter, nor by a refund, nor soon by a host.
#include "credits/rows.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class CreditSpending : public MarketTest {
protected:
    // Gives the person a credit, as redeeming a code does.
    void promote(const Person& who, std::int64_t amount) {
        const std::string code = "CODE-" + std::to_string(++codes_);
        credits::Campaign campaign;
        campaign.campaign_id =
            credits::CampaignId::make(town.harness.clock.now(), town.harness.random);
        campaign.code = code;
        campaign.name = "Launch";
        campaign.total = campaign.per_account = Micro{amount};
        campaign.credit_days = 30;
        campaign.redeem_until = now() + hours(1);
        database().write([&](db::Transaction& tx) {
            const db::Context context{tx, town.harness.random, now()};
            ledger::park(context, {{}, ledger::Asset::usdc, Micro{amount}, code});
            ledger::move_own(context,
                             {ledger::Movement::top_up, ledger::Asset::usdc, Micro{amount}, code});
            EXPECT_TRUE(credits::begin_campaign(context, campaign));
            EXPECT_TRUE(credits::redeem_campaign(tx, campaign.campaign_id, now()));
            EXPECT_TRUE(credits::add_credit(
                tx, {.credit_id = credits::CreditId::make(now(), town.harness.random),
                     .campaign_id = campaign.campaign_id,
                     .account_id = who.account,
                     .asset = campaign.asset,
                     .amount = campaign.per_account,
                     .remaining = campaign.per_account,
                     .redeemed_at = now(),
                     .expires_at = now() + hours(24 * campaign.credit_days)}));
        });
    }
    Micro capital() {
        return database().read(
            [&](db::Transaction& tx) { return ledger::means(tx, ledger::Asset::usdc).capital; });
    }
    void pay_out(std::int64_t amount) {
        database().write([&](db::Transaction& tx) {
            ledger::lock({tx, town.harness.random, now()},
                         {ledger::TransferId::make(now(), town.harness.random), ada.account,
                          ledger::Asset::usdc, Micro{amount}, ledger::Source::payout});
        });
    }
    std::optional<Code> refusal_of(const std::function<void()>& act) {
        try {
            act();
        } catch (const Problem& problem) {
            return problem.code;
        }
        return std::nullopt;
    }
    std::string billing(const Person& who, const std::string& what) {
        return member(send(who, "GET", "/api/v1/billing").body, what);
    }
    std::string earnings(const std::string& what) {
        return member(send(ada, "GET", "/api/v1/hosts/earnings").body, what);
    }
    // Runs for so many times 20 seconds, at a micro-unit a millisecond, and ends.
    void run(const Person& who, JobId job, int beats) {
        get_ready(job);
        for (int i = 1; i <= beats; ++i) {
            town.harness.clock.advance(seconds(20));
            beat(job, i * 20'000);
        }
        stop(who, job, R"(,"skip_retrieval":true)");
        EXPECT_EQ(end(job, beats * 20'000), "STOPPED");
    }
    void TearDown() override {
        const credits::CreditWitness witness;
        ledger::CheckOptions options;
        options.witnesses = {&witness};
        database().read([&](db::Transaction& tx) {
            const auto report = ledger::check_ledger(tx, options);
            EXPECT_TRUE(report.sound()) << ledger::to_text(report);
        });
    }

private:
    int codes_ = 0;
};

TEST_F(CreditSpending, PaysForAWholeRentalOfWhoHasNoMoney) {
    const Person cyd = join(R"(["renter"])");
    promote(cyd, 400'000);
    const JobId job = rent(cyd, put_up(), {.budget = 300'000});
    EXPECT_EQ(balances(cyd).held, Micro{300'000});
    EXPECT_EQ(billing(cyd, "credit_micro"), "100000");
    run(cyd, job, 3);
    EXPECT_EQ(balances(cyd).held, Micro{});
    EXPECT_EQ(balances(cyd).available, Micro{}) << "what was not spent is no balance";
    EXPECT_EQ(billing(cyd, "credit_micro"), "340000");
    EXPECT_EQ(balances(ada).payable, Micro{54'000});
    EXPECT_EQ(earnings("maturing_micro"), "54000") << "a host's share of a credit waits 30 days";
    EXPECT_EQ(earnings("payable_micro"), "0");
    EXPECT_EQ(refusal_of([&] { pay_out(1); }), Code::insufficient_funds);
    town.harness.clock.advance(hours(24 * 31));
    EXPECT_EQ(earnings("payable_micro"), "54000");
    pay_out(54'000);
    const auto receipt = send(cyd, "GET", "/api/v1/billing/receipts/" + to_string(job));
    EXPECT_EQ(member(receipt.body, "credit_micro"), "60000");
    EXPECT_EQ(member(receipt.body, "charge_micro"), "60000");
}

TEST_F(CreditSpending, ComesBeforeTheBalanceAndRefundsGoTheOtherWay) {
    promote(ben, 340'000);
    const JobId job = rent(ben, put_up());
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 660'000});
    run(ben, job, 20);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 60'000});
    EXPECT_EQ(billing(ben, "credit_micro"), "0");
    EXPECT_EQ(balances(ada).payable, Micro{360'000});
    EXPECT_EQ(earnings("maturing_micro"), "306000");
    const auto refund = [&](std::int64_t amount) {
        return database().write([&](db::Transaction& tx) {
            const db::Context context{tx, town.harness.random, now()};
            const auto id = ledger::RefundId::make(now(), town.harness.random);
            const auto made = ledger::refund(context, {id, job, Micro{amount}});
            credits::give_back(tx, job, made.to_credit);
            return made.to_credit;
        });
    };
    EXPECT_EQ(refund(20'000), Micro{});
    town.harness.clock.advance(milliseconds(1));
    EXPECT_EQ(refund(100'000), Micro{60'000});
    EXPECT_EQ(balances(ben).available, Micro{10'000'000}) << "what was paid, and no more";
    EXPECT_EQ(billing(ben, "credit_micro"), "60000");
    town.harness.clock.advance(milliseconds(1));
    EXPECT_EQ(refund(280'000), Micro{280'000});
    EXPECT_EQ(balances(ben).available, Micro{10'000'000});
    EXPECT_EQ(balances(ada).payable, Micro{});
}

TEST_F(CreditSpending, ARaiseOfTheBudgetIsPaidByTheBalance) {
    promote(ben, 500'000);
    const JobId job = rent(ben, put_up(), {.budget = 200'000});
    const auto raised = send(ben, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
                             R"({"add_micro":"100000","expected_budget_version":"1"})");
    EXPECT_EQ(raised.status, 202) << raised.body;
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 100'000});
    EXPECT_EQ(billing(ben, "credit_micro"), "300000");
    run(ben, job, 12);  // 240,000: all of the credit, and 40,000 of the raise
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
    EXPECT_EQ(billing(ben, "credit_micro"), "300000");
    EXPECT_EQ(earnings("maturing_micro"), "180000");
}

TEST_F(CreditSpending, AMidnightOnEitherSideOfItsEndSplitsTheCharge) {
    for (const std::int64_t credit : {100'000, 300'000}) {
        // The next midnight comes when 200,000 of 400,000 have run.
        constexpr std::int64_t day = 86'400'000'000;
        const std::int64_t left = day - now().micros % day;
        town.harness.clock.advance(std::chrono::microseconds(left + day) - seconds(200));
        const Micro had = balances(ben).available;
        const Micro earned = balances(ada).payable;
        const std::string matured = earnings("maturing_micro");
        promote(ben, credit);
        const JobId job = rent(ben, put_up());
        run(ben, job, 20);
        EXPECT_EQ(had - balances(ben).available, Micro{400'000 - credit});
        EXPECT_EQ(balances(ada).payable - earned, Micro{360'000});
        EXPECT_EQ(std::stoll(earnings("maturing_micro")) - std::stoll(matured), credit / 10 * 9);
    }
}

TEST_F(CreditSpending, WhatExpiresMeanwhileIsStillSpentByARentalThatRuns) {
    const Person cyd = join(R"(["renter"])");
    promote(cyd, 400'000);
    const JobId job = rent(cyd, put_up(), {.budget = 300'000});
    const auto expire = [&] {
        database().write([&](db::Transaction& tx) {
            credits::expire_credits({tx, town.harness.random, now()}, 100);
        });
    };
    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE credits SET expires_at = $1", now() + seconds(10));
    });
    town.harness.clock.advance(seconds(11));
    expire();
    EXPECT_EQ(capital(), Micro{100'000}) << "what no rental has";
    run(cyd, job, 3);
    EXPECT_EQ(balances(ada).payable, Micro{54'000});
    EXPECT_EQ(billing(cyd, "credit_micro"), "0");
    expire();
    EXPECT_EQ(capital(), Micro{340'000}) << "and what it did not take";
    EXPECT_EQ(balances(cyd).available, Micro{});
}

TEST_F(CreditSpending, ComesBackFromARentalThatNeverRanAndFromTwoAtOnce) {
    promote(ben, 1'500'000);
    const JobId first = rent(ben, put_up());
    const JobId second = rent(ben, put_up());
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 500'000});
    EXPECT_EQ(billing(ben, "credit_micro"), "0");
    for (const JobId job : {first, second}) EXPECT_EQ(stop(ben, job).status, 202);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000});
    EXPECT_EQ(billing(ben, "credit_micro"), "1500000");
    EXPECT_EQ(balances(ben).held, Micro{});
}

}  // namespace
}  // namespace berth::test
