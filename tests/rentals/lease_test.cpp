// A host that goes on where its lease has run out earns nothing for it, and one whose reports are
// late loses nothing by it.
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class Leased : public MarketTest {
protected:
    JobId begin() {
        const JobId job = rent(ben, put_up(), {.budget = 9'000'000});
        get_ready(job);
        return job;
    }
    void report(JobId job, std::int64_t at_s, std::int64_t runtime_s) {
        const Time at = find(job).live.meter_started_at.value() + seconds(at_s);
        town.harness.clock.advance(at - now());
        beat(job, runtime_s * 1000);
    }
    std::int64_t billed_s(JobId job) { return find(job).live.accepted_ms / 1000; }
};

TEST_F(Leased, AWorkloadIsBilledUntilItHasToBeGoneAndNoLonger) {
    const JobId job = begin();
    report(job, 20, 20);
    report(job, 7220, 7220);  // nobody was there to hear it
    EXPECT_EQ(billed_s(job), 20 + 90 + 300);
    // The heartbeat brought a lease, and with it time that counts.
    report(job, 7240, 7240);
    EXPECT_EQ(billed_s(job), 410 + 20);
}

TEST_F(Leased, AnOldCounterToldOnceMoreSavesNoOutageForTheNextReport) {
    const JobId job = begin();
    report(job, 20, 20);
    report(job, 7220, 20);
    report(job, 7240, 7240);
    EXPECT_EQ(billed_s(job), 20 + 20);
}

TEST_F(Leased, AnEndThatIsToldLateIsBilledToWhereTheWorkloadHadToBeGone) {
    const JobId job = begin();
    report(job, 20, 20);
    town.harness.clock.advance(hours(1));
    EXPECT_EQ(end(job, 3'620'000), "STOPPED");
    EXPECT_EQ(billed_s(job), 410);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 410'000});
}

TEST_F(Leased, AnEventWithoutALeaseOpensNoNewTime) {
    const JobId job = begin();
    report(job, 20, 20);
    town.harness.clock.advance(seconds(1000));
    const auto usage = [&](std::int64_t ms) {
        tell(job, agent_protocol::JobEventKind::usage,
             wire::encode(usage_evidence(DoubleWorkload{}, ms)));
    };
    usage(1'020'000);
    EXPECT_EQ(billed_s(job), 410);
    town.harness.clock.advance(seconds(200));
    usage(1'220'000);
    EXPECT_EQ(billed_s(job), 410);
}

TEST_F(Leased, EverySecondReportBeingLateCostsTheHostNothing) {
    const JobId job = begin();
    for (std::int64_t at = 40; at <= 400; at += 40) {
        report(job, at - 5, at - 20);
        report(job, at, at);
        EXPECT_EQ(billed_s(job), at);
    }
}

TEST_F(Leased, UnusedTimeIsCarriedForHalfAMinuteAtMost) {
    const JobId job = begin();
    report(job, 100, 10);
    report(job, 120, 500);
    EXPECT_EQ(billed_s(job), 10 + 30 + 20);
    report(job, 140, 900);  // it was used up
    EXPECT_EQ(billed_s(job), 60 + 20);
}

TEST_F(Leased, NothingIsCarriedBeyondAStop) {
    const JobId job = begin();
    report(job, 60, 30);
    stop(ben, job);
    town.harness.clock.advance(seconds(10));
    EXPECT_EQ(end(job, 70'000), "STOPPED");
    EXPECT_EQ(billed_s(job), 30);
}

TEST_F(Leased, NothingIsCarriedBeyondWhatIsFundedBeforeAnybodyLooked) {
    const JobId job = rent(ben, put_up(), {.budget = 100'000});
    get_ready(job);
    report(job, 60, 30);
    report(job, 130, 130);
    EXPECT_EQ(billed_s(job), 30 + 40);
}

}  // namespace
}  // namespace berth::test
