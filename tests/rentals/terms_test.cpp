// What was agreed holds: whatever the offer, the account or the telemetry say later.
#include "ledger/maturing.hpp"
#include "offers/template_store.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class AgreedTerms : public MarketTest {
protected:
    http::Response edit(const machines::Machine& machine, int expected, std::int64_t price,
                        Time until) {
        return send(ada, "PATCH",
                    "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/offer",
                    fmt::format(R"({{"expected_version":"{}","rate_micro_per_hour":"{}",)"
                                R"("included_disk_gib":100,"included_egress_gib":1000,)"
                                R"("available_from":"{}","available_until":"{}"}})",
                                expected, price, to_rfc3339(now() - hours(1)), to_rfc3339(until)));
    }
    void publish(const machines::Machine& machine, int expected, std::int64_t price) {
        const auto edited = edit(machine, expected, price, now() + hours(3000));
        ASSERT_EQ(edited.status, 202) << edited.body;
    }
};

TEST_F(AgreedTerms, TheQuoteIsTheOnlyPriceOfARental) {
    const auto machine = put_up();
    const auto quoted = quote(ben, machine, {});
    publish(machine, 1, 2 * rate);
    const auto reserved = reserve(ben, member(quoted.body, "quote_id"));
    ASSERT_EQ(reserved.status, 202) << reserved.body;
    const JobId job{parse_uuid(member(reserved.body, "job_id")).value()};
    get_ready(job);
    publish(machine, 2, 3 * rate);
    town.harness.clock.advance(seconds(60));
    beat(job, 60'000);
    EXPECT_EQ(member(show(ben, job), "rate_micro_per_hour"), std::to_string(rate));
    EXPECT_EQ(member(show(ben, job), "offer_version"), "1");
    stop(ben, job);
    end(job, 60'000);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 60'000});
    const auto receipt = send(ben, "GET", "/api/v1/billing/receipts/" + to_string(job));
    EXPECT_EQ(member(receipt.body, "machine_rate_micro_per_hour"), std::to_string(rate));
}

TEST_F(AgreedTerms, ARentalKeepsTheTimeItWasPromisedUntilItIsOver) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine, {.duration_s = 3600});
    get_ready(job);
    const Time promised = now() + hours(1);
    const auto refused = edit(machine, 1, rate, promised - seconds(1));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(error_code(refused), "CONFLICT");
    EXPECT_EQ(edit(machine, 1, rate, promised).status, 202);
    EXPECT_EQ(edit(machine, 2, rate, promised - seconds(1)).status, 409);
    stop(ben, job);
    end(job, 0);
    EXPECT_EQ(edit(machine, 2, rate, promised - seconds(1)).status, 202);
}

TEST_F(AgreedTerms, ASuspendedHostsMachineIsNeitherQuotedNorReserved) {
    const auto machine = put_up();
    const auto quoted = quote(ben, machine, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    town.suspend(to_string(ada.account));
    for (const auto& refused :
         {quote(ben, machine, {}), reserve(ben, member(quoted.body, "quote_id"))}) {
        EXPECT_EQ(refused.status, 409) << refused.body;
        EXPECT_EQ(error_code(refused), "CONFLICT");
        EXPECT_NE(refused.body.find("HOST_SUSPENDED"), std::string::npos) << refused.body;
    }
    town.suspend(to_string(ada.account), false);
    EXPECT_EQ(reserve(ben, member(quoted.body, "quote_id")).status, 202);
}

// The quote has the image alone; the rest of the template would be of another making.
TEST_F(AgreedTerms, AQuoteOfATemplateThatWasChangedSinceIsNotUsed) {
    const auto machine = put_up();
    const auto quoted = quote(ben, machine, {});
    town.harness.clock.advance(seconds(1));
    database().write([&](db::Transaction& tx) {
        auto row = offers::find_template(tx, offers::TemplateId{parse_uuid(classical).value()});
        row->env = R"({"MODE":"other"})";
        row->changed_at = now();
        offers::save_template(tx, *row);
    });
    const auto refused = reserve(ben, member(quoted.body, "quote_id"));
    EXPECT_EQ(error_code(refused), "CONFLICT") << refused.body;
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(reserve(ben, member(quote(ben, machine, {}).body, "quote_id")).status, 202);
}

TEST_F(AgreedTerms, AFeeThatWasChangedSinceIsNotTaken) {
    const JobId job = rent(ben, put_up());
    town.harness.set("money.platform_fee_bps", "5000");
    get_ready(job);
    town.harness.clock.advance(seconds(60));
    stop(ben, job);
    end(job, 60'000);
    EXPECT_EQ(balances(ada).payable, Micro{54'000});
}

TEST_F(AgreedTerms, APayoutDelayIsTheOneOfTheQuote) {
    town.harness.set("money.payout_delay_hours", "24");
    const JobId job = rent(ben, put_up());
    town.harness.set("money.payout_delay_hours", "0");
    get_ready(job);
    town.harness.clock.advance(seconds(60));
    stop(ben, job);
    end(job, 60'000);
    const auto maturing = [&] {
        return database().read([&](db::Transaction& tx) {
            return ledger::maturing(tx, ada.account, ledger::Asset::usdc, now()).amount;
        });
    };
    EXPECT_EQ(maturing(), Micro{54'000});
    town.harness.clock.advance(std::chrono::hours(24));
    EXPECT_EQ(maturing(), Micro{0});
}

TEST_F(AgreedTerms, ASuspendedRentersJobRunsAndIsBilledToTheEndOfItsFunding) {
    const auto other = put_up();
    const JobId job = rent(ben, put_up(), {.budget = 100'000});
    get_ready(job);
    town.suspend(to_string(ben.account));
    EXPECT_EQ(quote(ben, other, {}).status, 401);
    for (int i = 1; i <= 4; ++i) {
        town.harness.clock.advance(seconds(20));
        EXPECT_EQ(beat(job, i * 20'000), 1u);
    }
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    pass(seconds(21));
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    end(job, 101'000);
    town.suspend(to_string(ben.account), false);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "funded_expiry");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 100'000});
    EXPECT_EQ(quote(ben, other, {}).status, 201);
}

TEST_F(AgreedTerms, TelemetryChangesNothingButWhatIsShown) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    const auto before = seen(town.harness, machine.machine_id);
    database().write([&](db::Transaction& tx) {
        machines::note_heard(
            tx, {.machine_id = machine.machine_id,
                 .last_healthy_at = now(),
                 .boot_id = "boot-1",
                 .telemetry = R"({"uptime_ms":"0","gpus":[{"util_pct":0,"temperature_c":199}]})",
                 .telemetry_at = now()});
    });
    pass(seconds(60));
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    EXPECT_EQ(find(job).live.accepted_ms, 0);
    EXPECT_EQ(seen(town.harness, machine.machine_id).version, before.version);
    const auto shown = send(ada, "GET", "/api/v1/hosts/machines/" + to_string(machine.machine_id));
    EXPECT_EQ(member(shown.body, "telemetry.gpus.0.temperature_c"), "199") << shown.body;
    EXPECT_EQ(member(shown.body, "listing_blockers"), "[]");
}

TEST_F(AgreedTerms, TwentyRentalsAreShownToTheHostNewestFirst) {
    const auto machine = put_up();
    std::vector<std::string> jobs;
    for (int i = 0; i < 22; ++i) {
        town.harness.clock.advance(seconds(3));
        const JobId job = rent(ben, machine);
        stop(ben, job);
        clean(job);
        jobs.insert(jobs.begin(), to_string(job));
    }
    const auto shown = send(ada, "GET", "/api/v1/hosts/machines/" + to_string(machine.machine_id));
    EXPECT_EQ(member(shown.body, "recent_jobs.0.job_id"), jobs.front());
    EXPECT_EQ(member(shown.body, "recent_jobs.19.job_id"), jobs[19]);
    EXPECT_EQ(member(shown.body, "recent_jobs.20"), "");
}

}  // namespace
}  // namespace berth::test
