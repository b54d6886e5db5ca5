// What the books add up to, for those who keep them and for those whose money is in them.
#include <gtest/gtest.h>

#include <algorithm>

#include "admin/office.hpp"

namespace berth::test {
namespace {

const std::string year_1 = "since=2026-01-01T00:00:00Z&until=2027-01-01T00:00:00Z";

const std::string january = "2026-01-31T23:00:00Z";
const std::string february = "2026-02-01T01:00:00Z";

class Reports : public Office {
protected:
    http::Response ask(Browser& browser, const std::string& target,
                       const std::string& accept = "application/json") {
        return town.harness.ask({.target = target,
                                 .headers = {{"User-Agent", browser.user_agent},
                                             {"Cookie", browser.cookie},
                                             {"Accept", accept}},
                                 .from = browser.address});
    }
    template <class Function>
    auto book_at(const std::string& at, Function function) {
        const Time time = parse_rfc3339(at).value();
        return town.harness.app->database().write([&](db::Transaction& tx) {
            return function(ledger::Context{tx, town.harness.random, time});
        });
    }
    // A job that is over; the fee is ten per cent.
    JobId job_at(const std::string& at, AccountId by, AccountId on, std::int64_t charge) {
        return book_at(at, [&](ledger::Context context) {
            const auto id = JobId::make(context.now, context.random);
            ledger::deposit(context,
                            {by, ledger::Asset::usdc, Micro{charge}, town.harness.new_id()});
            ledger::hold(context, {id, by, on, MachineId{id.uuid}, ledger::Asset::usdc,
                                   Micro{charge}, Micro{3'600'000}, 1000});
            ledger::capture(context, id, {Micro{charge}, charge});
            ledger::release(context, id);
            return id;
        });
    }
    void pay_out(const std::string& at, AccountId to, std::int64_t amount) {
        book_at(at, [&](ledger::Context context) {
            const auto id = ledger::TransferId::make(context.now, context.random);
            ledger::lock(context, {.transfer = id,
                                   .account = to,
                                   .asset = ledger::Asset::usdc,
                                   .amount = Micro{amount},
                                   .source = ledger::Source::payout});
            ledger::settle(context, id);
        });
    }
    void refund(const std::string& at, JobId job, std::int64_t amount) {
        book_at(at, [&](ledger::Context context) {
            ledger::refund(
                context, {ledger::RefundId::make(context.now, context.random), job, Micro{amount}});
        });
    }

    AccountId renter = account(ada);
    Browser bob = town.person("bob@example.org");
    AccountId host = account(bob);
};

TEST_F(Reports, FiguresCountEachMovementOnceOnItsOwnDay) {
    const JobId first = job_at(january, renter, host, 10'000);
    job_at(february, renter, host, 4'000);
    refund(february, first, 1'000);
    pay_out(february, host, 5'000);
    const std::string by_day =
        get(root, "reports/figures?first_day=2026-01-31&last_day=2026-02-01&asset=USDC");
    EXPECT_EQ(member(by_day, "rows.0.period"), "2026-01-31");
    EXPECT_EQ(member(by_day, "rows.0.charged_micro"), "10000");
    EXPECT_EQ(member(by_day, "rows.0.fees_micro"), "1000");
    EXPECT_EQ(member(by_day, "rows.0.host_earnings_micro"), "9000");
    EXPECT_EQ(member(by_day, "rows.0.received_micro"), "10000");
    EXPECT_EQ(member(by_day, "rows.0.received_count"), "1");
    EXPECT_EQ(member(by_day, "rows.0.paid_out_micro"), "0");
    EXPECT_EQ(member(by_day, "rows.1.period"), "2026-02-01");
    EXPECT_EQ(member(by_day, "rows.1.charged_micro"), "4000");
    EXPECT_EQ(member(by_day, "rows.1.refunded_micro"), "1000");
    EXPECT_EQ(member(by_day, "rows.1.fees_micro"), "300");
    EXPECT_EQ(member(by_day, "rows.1.host_earnings_micro"), "2700");
    EXPECT_EQ(member(by_day, "rows.1.paid_out_micro"), "5000");
    EXPECT_EQ(member(by_day, "rows.1.paid_out_count"), "1");
    EXPECT_EQ(member(by_day, "rows.2.period"), "");

    const std::string by_month =
        get(root, "reports/figures?first_day=2026-01-01&last_day=2026-03-31&by=month&asset=USDC");
    EXPECT_EQ(member(by_month, "rows.0.period"), "2026-01");
    EXPECT_EQ(member(by_month, "rows.0.charged_micro"), "10000");
    EXPECT_EQ(member(by_month, "rows.1.charged_micro"), "4000");
    EXPECT_EQ(member(by_month, "rows.2.period"), "2026-03");
    EXPECT_EQ(member(by_month, "rows.2.charged_micro"), "0");
    EXPECT_EQ(member(by_month, "rows.3.period"), "");
    EXPECT_EQ(member(by_month, "to"), "2026-04-01T00:00:00Z");
}

TEST_F(Reports, FiguresCountWhatCreditsPaidAndGotBack) {
    const JobId job = book_at(january, [&](ledger::Context context) {
        const auto id = JobId::make(context.now, context.random);
        ledger::park(context, {{}, ledger::Asset::usdc, Micro{20'000}, "own"});
        ledger::move_own(context,
                         {ledger::Movement::top_up, ledger::Asset::usdc, Micro{20'000}, "own"});
        ledger::fund_campaign(context, ledger::Asset::usdc, Micro{15'000}, "launch");
        ledger::hold(context, {id, renter, host, MachineId{id.uuid}, ledger::Asset::usdc,
                               Micro{12'000}, Micro{3'600'000}, 1000, 0, Micro{12'000}});
        ledger::capture(context, id, {Micro{10'000}, 10'000});
        ledger::release(context, id);
        return id;
    });
    refund(february, job, 10'000);
    book_at(february, [&](ledger::Context context) {
        ledger::move_own(
            context, {ledger::Movement::campaign_end, ledger::Asset::usdc, Micro{5'000}, "launch"});
    });
    const std::string figures =
        get(root, "reports/figures?first_day=2026-01-31&last_day=2026-02-01&asset=USDC");
    EXPECT_EQ(member(figures, "rows.0.charged_micro"), "10000");
    EXPECT_EQ(member(figures, "rows.0.credits_spent_micro"), "10000");
    EXPECT_EQ(member(figures, "rows.0.campaigns_micro"), "15000");
    EXPECT_EQ(member(figures, "rows.1.refunded_micro"), "10000");
    EXPECT_EQ(member(figures, "rows.1.credits_spent_micro"), "-10000");
    EXPECT_EQ(member(figures, "rows.1.campaigns_micro"), "-5000");
    const std::string both =
        get(root, "reports/figures?first_day=2026-01-31&last_day=2026-03-01&by=month&asset=USDC");
    EXPECT_EQ(member(both, "rows.0.fees_micro"), "1000");
    EXPECT_EQ(member(both, "rows.0.host_earnings_micro"), "9000");
    EXPECT_EQ(member(both, "rows.1.fees_micro"), "-1000") << "charged less refunded";
    EXPECT_EQ(member(both, "rows.1.host_earnings_micro"), "-9000");
}

TEST_F(Reports, BothAssetsHaveARowUnlessOneIsAskedFor) {
    const std::string both = get(root, "reports/figures?first_day=2026-01-01&last_day=2026-01-01");
    EXPECT_EQ(member(both, "rows.0.asset"), "USDC");
    EXPECT_EQ(member(both, "rows.1.asset"), "USDT");
    EXPECT_EQ(member(both, "rows.2.asset"), "");
}

TEST_F(Reports, ABadPeriodIsNamed) {
    struct Case {
        std::string query;
        std::string names;
    };
    for (const Case& one : {
             Case{"first_day=2026-02-30&last_day=2026-03-01", "query.first_day"},
             Case{"first_day=2026-02-01&last_day=2026-1-1", "query.last_day"},
             Case{"first_day=2026-02-02&last_day=2026-02-01", "query.last_day"},
             Case{"first_day=2025-01-01&last_day=2026-01-02", "query.last_day"},
             Case{"first_day=1980-01-01&last_day=2026-01-01&by=month", "query.last_day"},
             Case{"first_day=9999-12-01&last_day=9999-12-31&by=month", "query.first_day"},
             Case{"first_day=2026-01-01", "query.last_day"},
             Case{"first_day=2026-01-01&last_day=2026-01-01&by=week", "query.by"},
         }) {
        const auto answer = root.send("GET", "/api/v1/admin/reports/figures?" + one.query);
        EXPECT_EQ(answer.status, 422) << one.query << answer.body;
        EXPECT_NE(error_message(answer).find(one.names), std::string::npos) << answer.body;
    }
    for (const std::string query :
         {"since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z", "since=2026-01-02&until=x"}) {
        EXPECT_EQ(ask(ada, "/api/v1/billing/statement?" + query).status, 422) << query;
    }
    EXPECT_EQ(root.send("GET", "/api/v1/admin/reports/host-earnings?year=1969").status, 422);
}

TEST_F(Reports, TheTrialBalanceSumsToZeroAtAnyTime) {
    job_at(january, renter, host, 10'000);
    pay_out(february, host, 5'000);
    const std::string then = "2026-02-01T00:00:00Z";
    const std::string now = get(root, "reports/trial");
    const std::string before = get(root, "reports/trial?at=" + then);
    EXPECT_EQ(member(now, "balanced"), "true");
    EXPECT_EQ(member(before, "balanced"), "true");
    const auto balance = [](const std::string& trial, const std::string& pocket) {
        for (int i = 0;; ++i) {
            const std::string row = "rows." + std::to_string(i);
            const std::string name = member(trial, row + ".pocket");
            if (name.empty() || name == pocket) return member(trial, row + ".balance_micro");
        }
    };
    EXPECT_EQ(balance(now, "payable"), "4000");
    EXPECT_EQ(balance(now, "outbound"), "5000");
    EXPECT_EQ(balance(now, "treasury"), "-10000");
    EXPECT_EQ(balance(before, "payable"), "9000");
    EXPECT_EQ(balance(before, "outbound"), "");
    EXPECT_EQ(balance(before, "fee_income"), "1000");
}

TEST_F(Reports, TheTrialBalanceAddsUpYears) {
    job_at("2023-05-05T05:05:05.005Z", renter, host, 10'000);
    job_at("2024-02-29T00:00:00Z", renter, host, 4'000);
    job_at(february, renter, host, 1'000);
    const auto fees_before = [&](const std::string& query) {
        const std::string trial = get(root, "reports/trial" + query);
        EXPECT_EQ(member(trial, "balanced"), "true");
        for (int i = 0;; ++i) {
            const std::string row = "rows." + std::to_string(i);
            const std::string pocket = member(trial, row + ".pocket");
            if (pocket.empty() || pocket == "fee_income")
                return member(trial, row + ".balance_micro");
        }
    };
    EXPECT_EQ(fees_before(""), "1500");
    EXPECT_EQ(fees_before("?at=9999-12-31T00:00:00Z"), "1500");
    EXPECT_EQ(fees_before("?at=2024-02-29T00:00:00.001Z"), "1400");
    EXPECT_EQ(fees_before("?at=2024-02-29T00:00:00Z"), "1000");
    EXPECT_EQ(fees_before("?at=2020-01-01T00:00:00Z"), "");
    const std::string figures =
        get(root, "reports/figures?first_day=2023-05-05&last_day=2026-02-28&by=month&asset=USDC");
    EXPECT_EQ(member(figures, "rows.0.charged_micro"), "10000");
    EXPECT_EQ(member(figures, "rows.9.period"), "2024-02");
    EXPECT_EQ(member(figures, "rows.9.charged_micro"), "4000");
    EXPECT_EQ(member(figures, "rows.33.charged_micro"), "1000");
}

TEST_F(Reports, AStatementOpensWithWhatTheOneBeforeClosedWith) {
    job_at(january, renter, host, 10'000);
    book_at(january, [&](ledger::Context context) {
        ledger::deposit(context, {renter, ledger::Asset::usdc, Micro{700}, "one more"});
    });
    job_at(february, renter, host, 4'000);
    const std::string first =
        ask(ada, "/api/v1/billing/statement?since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z")
            .body;
    const std::string second =
        ask(ada, "/api/v1/billing/statement?since=2026-02-01T00:00:00Z&until=2026-03-01T00:00:00Z")
            .body;
    EXPECT_EQ(member(first, "opening.available_micro"), "0");
    EXPECT_EQ(member(first, "closing.available_micro"), "700");
    EXPECT_EQ(member(second, "opening.available_micro"), "700");
    EXPECT_EQ(member(second, "closing.available_micro"), "700");
    EXPECT_EQ(member(first, "entries.0.kind"), "deposit");
    EXPECT_EQ(member(first, "entries.0.balance_micro"), "10000");
    EXPECT_EQ(member(first, "entries.0.direction"), "credit");
    EXPECT_EQ(member(second, "account_id"), to_string(renter));
    const std::string hosts = ask(bob, "/api/v1/billing/statement?" + year_1).body;
    EXPECT_EQ(member(hosts, "closing.payable_micro"), "12600");
}

TEST_F(Reports, AnotherAccountsStatementIsForFinanceAndIsRecorded) {
    job_at(january, renter, host, 10'000);
    const std::string path = "/api/v1/admin/users/" + to_string(renter) + "/statement?" + year_1;
    EXPECT_EQ(ask(bob, path).status, 403);
    EXPECT_EQ(events("read_statement"), 0);
    const auto answer = ask(root, path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(member(answer.body, "account_id"), to_string(renter));
    EXPECT_EQ(events("read_statement"), 1);
    EXPECT_EQ(ask(root, "/api/v1/admin/users/nobody/statement?" + year_1).status, 404);
}

TEST_F(Reports, AYearOfEarningsHasTwelveMonthsThatAddUp) {
    job_at(january, renter, host, 10'000);
    const JobId second = job_at(february, renter, host, 4'000);
    refund(february, second, 4'000);
    pay_out(february, host, 5'000);
    town.harness.app->database().write(
        [&](db::Transaction& tx) { accounts::set_host_capability(tx, host, true); });
    const std::string year = ask(bob, "/api/v1/hosts/earnings/years/2026").body;
    EXPECT_EQ(member(year, "gross_micro"), "10000");
    EXPECT_EQ(member(year, "fee_micro"), "1000");
    EXPECT_EQ(member(year, "earned_micro"), "9000");
    EXPECT_EQ(member(year, "paid_micro"), "5000");
    EXPECT_EQ(member(year, "months.0.month"), "2026-01");
    EXPECT_EQ(member(year, "months.0.earned_micro"), "9000");
    EXPECT_EQ(member(year, "months.1.earned_micro"), "0");
    EXPECT_EQ(member(year, "months.1.paid_micro"), "5000");
    EXPECT_EQ(member(year, "months.11.month"), "2026-12");
    EXPECT_EQ(member(year, "months.12.month"), "");
    EXPECT_EQ(member(ask(bob, "/api/v1/hosts/earnings/years/2025").body, "gross_micro"), "0");

    const std::string all = get(root, "reports/host-earnings?year=2026");
    EXPECT_EQ(member(all, "items.0.account_id"), to_string(host));
    EXPECT_EQ(member(all, "items.0.email"), "bob@example.org");
    EXPECT_EQ(member(all, "items.0.earned_micro"), "9000");
    EXPECT_EQ(member(all, "items.1.account_id"), "");
    EXPECT_EQ(member(get(root, "reports/host-earnings?year=2025"), "items.0.account_id"), "");
}

TEST_F(Reports, WhoAcceptsCsvGetsTheSameRows) {
    job_at(january, renter, host, 10'000);
    const std::string target =
        "/api/v1/admin/reports/figures?first_day=2026-01-31&last_day=2026-01-31&asset=USDC";
    const auto csv = ask(root, target, "text/csv");
    EXPECT_EQ(csv.content_type, "text/csv; charset=utf-8");
    EXPECT_EQ(csv.headers.find("Content-Disposition"),
              "attachment; filename=\"report_figures.csv\"");
    EXPECT_TRUE(csv.body.starts_with("period,asset,charged_micro,refunded_micro,fees_micro,"))
        << csv.body;
    EXPECT_NE(csv.body.find("\r\n2026-01-31,USDC,10000,0,1000,9000,10000,1,"), std::string::npos)
        << csv.body;
    EXPECT_EQ(ask(root, target, "text/csv;q=0.4, application/json").content_type,
              "application/json");
    EXPECT_EQ(ask(root, target, "*/*").content_type, "application/json");
    EXPECT_EQ(ask(root, target, "text/csv;q=0").content_type, "application/json");
    // What is refused is refused as ever.
    const auto refused = ask(root, "/api/v1/admin/reports/figures", "text/csv");
    EXPECT_EQ(refused.status, 422);
    EXPECT_EQ(error_code(refused), "INVALID_INPUT");
    const auto statement = ask(ada, "/api/v1/billing/statement?" + year_1, "text/csv");
    EXPECT_EQ(std::count(statement.body.begin(), statement.body.end(), '\n'), 5)
        << statement.body;  // the head, a deposit, both sides of a hold, a charge
}

TEST_F(Reports, PagesOfATableSayWhereToGoOn) {
    job_at(january, renter, host, 10'000);
    job_at(january, host, renter, 10'000);
    const std::string target = "/api/v1/admin/reports/host-earnings?year=2026&limit=1";
    const auto first = ask(root, target, "text/csv");
    const auto next = first.headers.find("Berth-Next-Cursor");
    ASSERT_TRUE(next.has_value());
    const auto second = ask(root, target + "&cursor=" + std::string(*next), "text/csv");
    EXPECT_FALSE(second.headers.find("Berth-Next-Cursor").has_value());
    EXPECT_NE(first.body, second.body);
}

TEST_F(Reports, StatementsAreLimitedByAccount) {
    town.harness.set("operations.rate_statements_per_hour", "2");
    const std::string target = "/api/v1/billing/statement?" + year_1;
    EXPECT_EQ(ask(ada, target).status, 200);
    EXPECT_EQ(ask(ada, target).status, 200);
    EXPECT_EQ(ask(ada, target).status, 429);
    EXPECT_EQ(ask(bob, target).status, 200);
}

}  // namespace
}  // namespace berth::test
