// Refunds and disputes of what has left: who bears it is said before it is done.
#include <thread>

#include "admin/office.hpp"
#include "transfers/store.hpp"

namespace berth::test {
namespace {

struct Burdens : Office {
    std::string wish(JobId id, const std::string& amount) {
        return R"({"job_id":")" + to_string(id) + R"(","amount_micro":")" + amount +
               R"(","reason":"it did not run","evidence":["ticket 7"]})";
    }
    ledger::TransferId lock(AccountId account, std::int64_t amount, transfers::TransferKind kind) {
        transfers::TransferRow row;
        book([&](ledger::Context context) {
            row.transfer_id = ledger::TransferId::make(context.now, context.random);
            row.kind = kind;
            row.account_id = account;
            row.amount = Micro{amount};
            row.created_at = context.now;
            transfers::add_transfer(context.tx, row);
            ledger::lock(context,
                         {row.transfer_id, account, ledger::Asset::usdc, Micro{amount},
                          kind == transfers::TransferKind::payout ? ledger::Source::payout
                                                                  : ledger::Source::withdrawal});
        });
        return row.transfer_id;
    }
    void pay_out(std::int64_t amount) {
        const auto id = lock(host, amount, transfers::TransferKind::payout);
        book([&](ledger::Context context) {
            transfers::move_transfer(
                context, id, {transfers::TransferState::INTENT, transfers::TransferState::SETTLED});
            ledger::settle(context, id);
        });
    }
    std::string state(ledger::TransferId id) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return std::string(enum_name(transfers::find_transfer(tx, id).value().state));
        });
    }
    std::int64_t count(const std::string& table) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM " + table).value();
        });
    }
    // Without a key, as previews are asked.
    http::Response preview(Browser& by, const std::string& path, const std::string& body) {
        return by.send("POST", "/api/v1/admin/" + path, body);
    }
    void deposit(AccountId account, std::int64_t amount) {
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::deposit(context, {account, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }

    Browser hal = town.person("hal@example.org");
    AccountId renter = account(ada);
    AccountId host = account(hal);
};

TEST_F(Burdens, ARefundAfterThePayoutNeedsSomebodyWhoBearsIt) {
    const JobId over = job(renter, host, 1000);
    pay_out(900);
    const auto refused = post(root, "refunds", wish(over, "1000"));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(member(refused.body, "shortfall.host_shortfall_micro"), "900");
    EXPECT_EQ(balances(renter).available, Micro{0});
    EXPECT_EQ(events("refund"), 0);
    EXPECT_EQ(post(root, "refunds?bearer=customers", wish(over, "1")).status, 422);

    deposit(host, 100);
    const auto made = post(root, "refunds?bearer=host_debt", wish(over, "1000"));
    ASSERT_EQ(made.status, 202) << made.body;
    EXPECT_EQ(member(made.body, "burden.host_shortfall_micro"), "900");
    EXPECT_EQ(member(made.body, "burden.bearer"), "host_debt");
    EXPECT_EQ(member(made.body, "burden.from_available_micro"), "100");
    EXPECT_EQ(member(made.body, "burden.host_debt_micro"), "800");
    EXPECT_EQ(balances(renter).available, Micro{1000});
    EXPECT_EQ(member(get(root, "users/" + to_string(host)), "balances.0.payable_micro"), "-800");
    EXPECT_NE(get(root, "audit").find("host_shortfall_micro"), std::string::npos);
}

TEST_F(Burdens, BothSidesAreToldAsAnEventEachItsShare) {
    const JobId over = job(renter, host, 1000);
    const auto shown = preview(root, "refunds/preview", wish(over, "500"));
    ASSERT_EQ(shown.status, 200) << shown.body;
    ASSERT_EQ(post(root, "refunds", wish(over, "500")).status, 202);
    for (Browser* side : {&ada, &hal}) {
        const std::string page = side->send("GET", "/api/v1/events?types=refund.*,dispute.*").body;
        EXPECT_EQ(member(page, "items.0.type"), "refund.posted") << page;
        EXPECT_EQ(member(page, "items.0.data.job_id"), to_string(over));
        EXPECT_EQ(member(page, "items.0.data.amount_micro"), side == &ada ? "500" : "450");
        EXPECT_EQ(member(page, "items.1"), "") << "once, and not of the preview";
        EXPECT_EQ(page.find(to_string(side == &ada ? host : renter)), std::string::npos)
            << "not who the other one is";
    }
}

TEST_F(Burdens, APlatformThatCannotBearItSaysSo) {
    const JobId over = job(renter, host, 1000);
    pay_out(900);
    const auto refused = post(root, "refunds?bearer=platform", wish(over, "1000"));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(member(refused.body, "shortfall.host_shortfall_micro"), "900");
    job(renter, account(root), 9000);  // a fee of 900
    const auto made = post(root, "refunds?bearer=platform", wish(over, "1000"));
    ASSERT_EQ(made.status, 202) << made.body;
    EXPECT_EQ(member(made.body, "burden.from_platform_micro"), "900");
    EXPECT_EQ(member(made.body, "burden.host_debt_micro"), "0");
    EXPECT_EQ(balances(host).payable, Micro{0});
}

TEST_F(Burdens, APreviewSaysTheSameAndChangesNothing) {
    const JobId over = job(renter, host, 1000);
    pay_out(500);
    const auto waiting = lock(host, 300, transfers::TransferKind::payout);
    town.harness.clock.advance(std::chrono::minutes(6));  // the step-up is over
    const std::int64_t booked = count("ledger_entries");
    const std::int64_t recorded = count("audit_events");
    const std::int64_t mailed = count("outbox");
    const std::int64_t keys = count("idempotency_keys");
    const auto shown = preview(root, "refunds/preview", wish(over, "1000"));
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(member(shown.body, "host_micro"), "900");
    EXPECT_EQ(member(shown.body, "fee_micro"), "100");
    EXPECT_EQ(member(shown.body, "host_shortfall_micro"), "500");
    EXPECT_EQ(member(shown.body, "needs_bearer"), "true");
    EXPECT_EQ(member(shown.body, "burden.bearer"), "null");
    EXPECT_EQ(member(shown.body, "burden.called_back.0"), to_string(waiting));
    EXPECT_EQ(member(shown.body, "burden.called_back_micro"), "300");
    EXPECT_EQ(preview(root, "refunds/preview?bearer=platform", wish(over, "1000")).status, 409);
    EXPECT_EQ(preview(root, "refunds/preview", wish(over, "1001")).status, 409);
    EXPECT_EQ(preview(ada, "refunds/preview", wish(over, "1")).status, 403);
    const auto held = preview(root, "disputes/preview", wish(over, "1000"));
    ASSERT_EQ(held.status, 200) << held.body;
    EXPECT_EQ(member(held.body, "held_micro"), "400");
    EXPECT_EQ(member(held.body, "unsecured_micro"), "500");
    EXPECT_EQ(state(waiting), "INTENT");
    EXPECT_EQ(count("ledger_entries"), booked);
    EXPECT_EQ(count("audit_events"), recorded);
    EXPECT_EQ(count("outbox"), mailed);
    EXPECT_EQ(count("idempotency_keys"), keys);
    EXPECT_EQ(count("disputes"), 0);
    EXPECT_EQ(post(root, "refunds", wish(over, "1")).status, 403) << "the act itself is proved";
}

TEST_F(Burdens, PayoutsThatNobodySignedAreCalledBackNewestFirst) {
    const JobId over = job(renter, host, 1000);
    const auto older = lock(host, 300, transfers::TransferKind::payout);
    const auto newer = lock(host, 600, transfers::TransferKind::payout);
    const auto made = post(root, "refunds", wish(over, "500"));  // 450 of the host
    ASSERT_EQ(made.status, 202) << made.body;
    EXPECT_EQ(member(made.body, "burden.called_back.0"), to_string(newer));
    EXPECT_EQ(member(made.body, "burden.called_back.1"), "");
    EXPECT_EQ(state(newer), "CANCELLED");
    EXPECT_EQ(state(older), "INTENT");
    EXPECT_EQ(balances(host).payable, Micro{150});
    EXPECT_EQ(balances(host).reserved, Micro{300});
}

TEST_F(Burdens, AHostThatOwesDoesNotWithdrawMeanwhile) {
    const JobId over = job(renter, host, 1000);
    pay_out(900);
    deposit(host, 500);
    const auto waiting = lock(host, 500, transfers::TransferKind::withdrawal);
    EXPECT_EQ(post(root, "refunds", wish(over, "1000")).status, 409);
    EXPECT_EQ(state(waiting), "INTENT");
    const auto made = post(root, "refunds?bearer=host_debt", wish(over, "1000"));
    ASSERT_EQ(made.status, 202) << made.body;
    EXPECT_EQ(state(waiting), "CANCELLED");
    EXPECT_EQ(balances(host).available, Micro{0});
    EXPECT_EQ(balances(host).payable, Micro{-400});
}

TEST_F(Burdens, ADisputeHoldsWhatIsThereAndSaysWhatIsNot) {
    const JobId over = job(renter, host, 1000);
    pay_out(700);
    const auto made = post(root, "disputes", wish(over, "1000"));
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(member(made.body, "held_micro"), "200");
    EXPECT_EQ(member(made.body, "unsecured_micro"), "700");
    EXPECT_EQ(balances(host).payable, Micro{0});
    EXPECT_EQ(balances(host).escrow, Micro{200});

    const std::string close = "disputes/" + member(made.body, "dispute_id") + "/close";
    const std::string upheld = R"({"outcome":"upheld","refund_micro":"1000","reason":"yes"})";
    const auto shown = preview(root, close + "/preview", upheld);
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(member(shown.body, "released_micro"), "200");
    EXPECT_EQ(member(shown.body, "refund.host_shortfall_micro"), "700");
    EXPECT_EQ(balances(host).escrow, Micro{200});
    const auto refused = post(root, close, upheld);
    EXPECT_EQ(member(refused.body, "shortfall.host_shortfall_micro"), "700") << refused.body;
    const auto closed = post(root, close + "?bearer=host_debt", upheld);
    ASSERT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(member(closed.body, "host_shortfall_micro"), "700");
    EXPECT_EQ(member(closed.body, "bearer"), "host_debt");
    EXPECT_EQ(balances(host).payable, Micro{-700});
    EXPECT_EQ(balances(renter).available, Micro{1000});
}

TEST_F(Burdens, ADisputeOfWhatHasAllLeftHoldsNothingAndCanBeDecided) {
    const JobId over = job(renter, host, 1000);
    pay_out(900);
    const auto made = post(root, "disputes", wish(over, "100"));
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(member(made.body, "held_micro"), "0");
    EXPECT_EQ(member(made.body, "unsecured_micro"), "90");
    EXPECT_EQ(balances(host).payable, Micro{0});
    const std::string close = "disputes/" + member(made.body, "dispute_id") + "/close";
    EXPECT_EQ(post(root, close, R"({"outcome":"rejected","reason":"it ran"})").status, 200);
    EXPECT_EQ(balances(host).payable, Micro{0});
}

TEST_F(Burdens, EveryRefundThatRacesPaysFromSomebodyWhoWasNamed) {
    const JobId over = job(renter, host, 1000);
    pay_out(500);  // 400 are left
    std::vector<std::thread> racers;
    std::atomic<int> granted = 0;
    for (int i = 0; i < 6; ++i)
        racers.emplace_back([&, key = town.harness.new_id()] {
            Browser mine = root;
            granted +=
                mine.send("POST", "/api/v1/admin/refunds", wish(over, "150"), key).status == 202;
        });
    for (std::thread& racer : racers) racer.join();
    EXPECT_EQ(granted, 2) << "135 each";
    EXPECT_EQ(balances(host).payable, Micro{130});
}

}  // namespace
}  // namespace berth::test
