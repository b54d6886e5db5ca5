// On which day a rental earns: the day on which it ran, whenever its end is heard of.
#include "ledger/days.hpp"
#include "ledger/maturing.hpp"
#include "ledger/statement.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class Midnight : public MarketTest {
protected:
    // A job that is READY ten minutes before midnight.
    JobId begin(const Wish& wish = {}) {
        constexpr std::int64_t day = 86'400'000'000;
        const auto machine = put_up();
        midnight = {(now().micros / day + 1) * day};
        town.harness.clock.advance(midnight - now() - seconds(600));
        const JobId job = rent(ben, machine, wish);
        get_ready(job);
        return job;
    }
    // The worker is there all the time, or it is not.
    void wait_until(Time at) { pass(at - now()); }
    // The agent tells every minute how long the job has run.
    void run_until(JobId job, Time at) {
        while (now() < at) {
            town.harness.clock.advance(std::min<Duration>(at - now(), seconds(60)));
            beat(job, (now() - *find(job).live.meter_started_at).count() / 1000);
        }
    }

    // What the host had of each of the two days, with the fee of a tenth.
    std::pair<std::int64_t, std::int64_t> earned() {
        return database().read([&](db::Transaction& tx) {
            const std::int64_t second = ledger::day_of(midnight);
            const auto days =
                ledger::earnings_by_day(tx, ada.account, ledger::Asset::usdc, {second - 1, second});
            return std::pair(days[0].earned.value, days[1].earned.value);
        });
    }
    using Earned = std::pair<std::int64_t, std::int64_t>;

    Time midnight;
};

TEST_F(Midnight, IsWhereTheFirstReportAfterItSettlesWhatHadRunByThen) {
    const JobId job = begin({.budget = 9'999'999, .duration_s = 31'536'000});
    run_until(job, midnight - seconds(10));
    wait_until(midnight + seconds(10));
    beat(job, 610'000);
    EXPECT_EQ(earned(), Earned(540'000, 0));
    database().read([&](db::Transaction& tx) {
        const auto booked = ledger::find_job(tx, job);
        EXPECT_EQ(booked->charged, Micro{600'000});
        EXPECT_FALSE(booked->closed);
        EXPECT_EQ(ledger::entries_of(tx, job, 100).back().at, midnight - Duration(1));
    });
    wait_until(midnight + seconds(30));
    beat(job, 630'000);
    stop(ben, job);
    EXPECT_EQ(end(job, 630'000), "STOPPED");
    EXPECT_EQ(earned(), Earned(540'000, 27'000));
    EXPECT_EQ(charge_of(find(job)), Micro{630'000});
    EXPECT_TRUE(database().read(
        [&](db::Transaction& tx) { return ledger::find_job(tx, job)->charged == Micro{630'000}; }));
}

// They are posted under the day on which the job ran; whoever would dispute them hears of them now.
TEST_F(Midnight, DoesNotMakeEarningsRipeBeforeTheirTime) {
    town.harness.set("money.payout_delay_hours", "24");
    const JobId job = begin({.budget = 9'999'999, .duration_s = 31'536'000});
    run_until(job, midnight - seconds(10));
    wait_until(midnight + seconds(10));
    beat(job, 610'000);
    database().read([&](db::Transaction& tx) {
        EXPECT_EQ(ledger::entries_of(tx, job, 100).back().at, midnight - Duration(1));
        const auto kept = ledger::maturing(tx, ada.account, ledger::Asset::usdc, now());
        EXPECT_EQ(kept.amount, Micro{540'000});
        const Time ripe = now() + std::chrono::hours(24);
        EXPECT_EQ(to_rfc3339(kept.next.value()), to_rfc3339(ripe));
    });
}

// The agent counts 5 s of the 20 s around midnight, then catches up: the days share what our clock
// allows, and together they are what one report at the end would have cost.
TEST_F(Midnight, SharesWhatASlowAgentCountedAndChangesNoTotal) {
    const JobId job = begin();
    run_until(job, midnight - seconds(10));
    wait_until(midnight + seconds(10));
    beat(job, 595'000);
    wait_until(midnight + seconds(20));
    beat(job, 620'000);
    EXPECT_EQ(find(job).live.accepted_ms, 620'000);
    stop(ben, job);
    EXPECT_EQ(end(job), "STOPPED");
    EXPECT_EQ(earned(), Earned(535'500, 22'500));
}

TEST_F(Midnight, IsPassedByAJobThatWasStoppedBeforeIt) {
    const JobId job = begin();
    run_until(job, midnight - seconds(15));
    wait_until(midnight - seconds(10));
    stop(ben, job);
    wait_until(midnight + seconds(5));
    EXPECT_EQ(end(job, 605'000), "STOPPED");
    EXPECT_EQ(earned(), Earned(531'000, 0));
}

TEST_F(Midnight, IsPassedByAJobThatEndsWithIt) {
    const JobId job = begin({.duration_s = 600});
    run_until(job, midnight - seconds(10));
    wait_until(midnight + seconds(5));
    ASSERT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(end(job, 600'000), "STOPPED");
    EXPECT_EQ(earned(), Earned(540'000, 0));
}

TEST_F(Midnight, DividesAJobThatEndedBeforeAnybodyLooked) {
    const JobId job = begin();
    run_until(job, midnight - seconds(10));
    town.harness.clock.advance(seconds(15));
    EXPECT_EQ(end(job, 605'000), "STOPPED");
    EXPECT_EQ(earned(), Earned(540'000, 4'500));
}

TEST_F(Midnight, IsPassedByAHostThatIsLost) {
    const JobId silent = begin();
    run_until(silent, midnight - seconds(10));
    wait_until(midnight + seconds(400));
    EXPECT_EQ(state_of(silent), JobState::CLOSED);
    EXPECT_EQ(earned(), Earned(531'000, 0));
}

TEST_F(Midnight, IsPassedByAHostThatComesBackAsAnother) {
    const JobId job = begin();
    run_until(job, midnight - seconds(10));
    town.harness.clock.advance(seconds(15));
    beat(job, 605'000, "boot-2");
    EXPECT_EQ(member(show(ben, job), "end_reason"), "host_lost");
    EXPECT_EQ(earned(), Earned(531'000, 0));
}

TEST_F(Midnight, IsPassedByAStopThatNobodyConfirms) {
    const JobId job = begin();
    run_until(job, midnight - seconds(10));
    stop(ben, job);
    wait_until(midnight + seconds(200));
    beat(job, 600'000);
    wait_until(midnight + seconds(300));
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(earned(), Earned(531'000, 0));
}

TEST_F(Midnight, OfManyDaysIsEachSettledOnce) {
    ben = join(R"(["renter"])", 900'000'000);
    const JobId job = begin({.budget = 800'000'000, .duration_s = 31'536'000});
    run_until(job, midnight - seconds(10));
    run_until(job, midnight + hours(48) + seconds(10));
    beat(job, 600'000 + 48 * 3'600'000 + 10'000);
    database().read([&](db::Transaction& tx) {
        const std::int64_t first = ledger::day_of(midnight) - 1;
        const auto days =
            ledger::earnings_by_day(tx, ada.account, ledger::Asset::usdc, {first, first + 3});
        EXPECT_EQ(days[0].earned, Micro{540'000});
        EXPECT_EQ(days[1].earned, Micro{77'760'000});
        EXPECT_EQ(days[2].earned, Micro{77'760'000});
        EXPECT_EQ(days[3].earned, Micro{});
    });
}

}  // namespace
}  // namespace berth::test
