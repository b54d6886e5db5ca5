#include "rentals/meter.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace berth::rentals {
namespace {

constexpr Time t0{1'800'000'000'000'000};
constexpr Time never{9'000'000'000'000'000'000};

Time after_ms(std::int64_t ms) { return t0 + std::chrono::milliseconds(ms); }

Terms terms(std::int64_t rate, std::int64_t budget, std::int64_t duration_s = 31'536'000,
            Time until = never) {
    return {Micro{rate}, Micro{budget}, duration_s, until};
}

TEST(Charge, IsTheFloorOfRateTimesRuntimeAndNeverAboveTheBudget) {
    struct Case {
        std::int64_t rate, budget, runtime_ms, charge;
    };
    const Case cases[] = {
        {3'600'000, 1'000'000, 0, 0},
        {3'600'000, 1'000'000, 1, 1},
        {3'600'000, 1'000'000, 999'999, 999'999},
        {3'600'000, 1'000'000, 1'000'000, 1'000'000},
        {3'600'000, 1'000'000, 1'000'001, 1'000'000},
        {1, 10, 3'599'999, 0},
        {1, 10, 3'600'000, 1},
        {1, 10, 7'199'999, 1},
        {0, 10, 31'536'000'000, 0},
        {1'999'999, 5'000'000, 3'600'000, 1'999'999},
        // The product has more than 64 bits.
        {1'000'000'000'000'000, 1'000'000'000'000'000, 3'600'000, 1'000'000'000'000'000},
        {1'000'000'000'000'000, 999, 31'536'000'000, 999},
        {9'223'372'036'854'775'807, 9'223'372'036'854'775'807, 31'536'000'000,
         9'223'372'036'854'775'807},
    };
    for (const Case& each : cases)
        EXPECT_EQ(charge_of(terms(each.rate, each.budget), each.runtime_ms).value, each.charge)
            << each.rate << " for " << each.runtime_ms;
}

TEST(Charge, OfTheWholeRuntimeIsNotTheSumOfItsTicks) {
    // A tick of one millisecond costs nothing at this rate; an hour of them costs the rate.
    const Terms slow = terms(3'599'999, 10'000'000);
    EXPECT_EQ(charge_of(slow, 1).value, 0);
    EXPECT_EQ(charge_of(slow, 3'600'000).value, 3'599'999);
}

TEST(Estimate, IsTheWholeDurationWhateverTheBudget) {
    EXPECT_EQ(estimate_of(terms(2'000'000, 1, 3600))->value, 2'000'000);
    EXPECT_EQ(estimate_of(terms(1'999'999, 1, 60))->value, 33'333);
    EXPECT_EQ(estimate_of(terms(0, 1, 31'536'000))->value, 0);
    EXPECT_FALSE(estimate_of(terms(9'223'372'036'854'775'807, 1, 31'536'000)).has_value());
}

TEST(FundedThrough, IsTheEarliestOfMoneyDurationAndAvailability) {
    struct Case {
        Terms terms;
        std::int64_t at_ms;
        Limit limit;
    };
    const Case cases[] = {
        {terms(3'600'000, 60'000, 3600), 60'000, Limit::funded_expiry},
        {terms(3'600'000, 60'001, 60), 60'000, Limit::duration_limit},
        {terms(3'600'000, 60'000, 60), 60'000, Limit::duration_limit},
        {terms(0, 1, 120), 120'000, Limit::duration_limit},
        {terms(3'600'000, 90'000, 3600, after_ms(80'000)), 80'000, Limit::availability_ended},
        {terms(3'600'000, 90'000, 3600, after_ms(90'000)), 90'000, Limit::availability_ended},
        {terms(3'600'000, 90'000, 3600, after_ms(90'001)), 90'000, Limit::funded_expiry},
        // floor(1 × 3600000 / 7) = 514285
        {terms(7, 1, 3600), 514'285, Limit::funded_expiry},
        {terms(1, 9'223'372'036'854'775'807, 31'536'000), 31'536'000'000, Limit::duration_limit},
    };
    for (const Case& each : cases) {
        const FundedThrough end = funded_through(each.terms, t0);
        EXPECT_EQ(end.at, after_ms(each.at_ms));
        EXPECT_EQ(end.limit, each.limit) << each.at_ms;
    }
}

TEST(FundedThrough, NeverLetsACostRiseAboveTheBudget) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 20'000; ++i) {
        const Terms some = terms(static_cast<std::int64_t>(random() % 1'000'000'000'000'000),
                                 1 + static_cast<std::int64_t>(random() % 1'000'000'000'000'000),
                                 60 + static_cast<std::int64_t>(random() % 31'535'941));
        const std::int64_t ms = (funded_through(some, t0).at - t0).count() / 1000;
        __extension__ using Wide = unsigned __int128;
        const Wide cost = static_cast<Wide>(some.rate_per_hour.value) * static_cast<Wide>(ms);
        ASSERT_LE(cost, static_cast<Wide>(some.budget.value) * 3'600'000);
        ASSERT_EQ(charge_of(some, ms).value, static_cast<std::int64_t>(cost / 3'600'000));
    }
}

TEST(AcceptedRuntime, GrowsByTheSmallerOfTheTwoIncreases) {
    Meter meter = start_meter(t0);
    meter = accept(meter, {after_ms(20'000), 20'000}, never);
    EXPECT_EQ(meter.accepted_ms, 20'000);
    meter = accept(meter, {after_ms(40'000), 90'000}, never);  // a clock that runs fast
    EXPECT_EQ(meter.accepted_ms, 40'000);
    meter = accept(meter, {after_ms(60'000), 95'000}, never);  // one that runs slow
    EXPECT_EQ(meter.accepted_ms, 45'000);
}

TEST(AcceptedRuntime, FillsWhatALateReportLeftUpToHalfAMinute) {
    Meter meter = start_meter(t0);
    meter = accept(meter, {after_ms(35'000), 20'000}, never);
    EXPECT_EQ(meter.carry_ms, 15'000);
    meter = accept(meter, {after_ms(40'000), 40'000}, never);
    EXPECT_EQ(meter.accepted_ms, 40'000);
    EXPECT_EQ(meter.carry_ms, 0);
    meter = accept(meter, {after_ms(200'000), 50'000}, never);
    EXPECT_EQ(meter.carry_ms, carry_ms_max);
    meter = accept(meter, {after_ms(210'000), 500'000}, never);
    EXPECT_EQ(meter.accepted_ms, 50'000 + 30'000 + 10'000);
}

TEST(AcceptedRuntime, CarriesNothingOverATroubleOrAnEnd) {
    Meter late = start_meter(t0);
    late.lease_until = after_ms(90'000);
    late = accept(late, {after_ms(50'000), 30'000}, never);
    ASSERT_EQ(late.carry_ms, 20'000);

    const Meter down = accept(late, {after_ms(60'000), 35'000, EngineStatus::down}, never);
    EXPECT_EQ(down.accepted_ms, 35'000);
    EXPECT_EQ(down.carry_ms, 0);
    const Meter up = accept(down, {after_ms(80'000), 35'000, EngineStatus::up}, never);
    EXPECT_EQ(up.carry_ms, 0);

    EXPECT_EQ(stop_meter(late, after_ms(60'000)).carry_ms, 0);
    // What the agent counted beyond the end does not fill what was left before it.
    EXPECT_EQ(accept(late, {after_ms(70'000), 70'000}, after_ms(60'000)).accepted_ms, 40'000);
    const Meter lapsed = accept(late, {after_ms(400'000), 500'000}, never);
    EXPECT_EQ(lapsed.accepted_ms, 30'000 + 340'000);
    EXPECT_EQ(lapsed.carry_ms, 0);
}

TEST(AcceptedRuntime, EndsWhereAWorkloadWithoutALeaseIsGone) {
    Meter meter = start_meter(t0);
    meter.lease_until = after_ms(90'000);
    EXPECT_EQ(accept(meter, {after_ms(390'000), 390'000}, never).accepted_ms, 390'000);
    EXPECT_EQ(accept(meter, {after_ms(390'001), 390'001}, never).accepted_ms, 390'000);
    // A heartbeat that comes later opens no time before it, whether or not it tells of any.
    const Report old{.at = after_ms(7'000'000), .runtime_ms = 0, .renews_lease = true};
    EXPECT_EQ(accept(meter, old, never).reported_at, after_ms(7'000'000));
    EXPECT_EQ(accept(meter, {.at = old.at, .runtime_ms = 0}, never).reported_at, t0);
}

TEST(AcceptedRuntime, OfADayIsNeverMoreThanOfTheWholeReport) {
    Meter meter = start_meter(t0);
    meter.lease_until = after_ms(100'000);
    meter = accept(meter, {after_ms(60'000), 30'000}, never);
    for (const std::int64_t at : {61'000, 390'000, 399'000, 400'001, 900'000}) {
        const Report report{after_ms(at), at};
        const std::int64_t whole = accept(meter, report, never).accepted_ms;
        std::int64_t before = meter.accepted_ms;
        for (std::int64_t by = 60'000; by <= at; by += 500) {
            const std::int64_t then = accepted_by(meter, report, never, after_ms(by));
            EXPECT_GE(then, before) << by;
            before = then;
        }
        EXPECT_LE(before, whole) << at;
    }
}

TEST(AcceptedRuntime, IsTheSameWhenReportsComeTwiceOrLate) {
    const auto run = [](std::vector<Report> reports) {
        Meter meter = start_meter(t0);
        for (const Report& report : reports) meter = accept(meter, report, never);
        return meter.accepted_ms;
    };
    const Report one{after_ms(20'000), 20'000};
    const Report two{after_ms(40'000), 40'000};
    const Report three{after_ms(60'000), 60'000};
    EXPECT_EQ(run({one, two, three}), 60'000);
    EXPECT_EQ(run({one, one, two, {after_ms(41'000), 40'000}, three}), 60'000);
    EXPECT_EQ(run({one, two, {after_ms(41'000), 20'000}, three}), 60'000);
    EXPECT_EQ(run({three}), 60'000);
    EXPECT_EQ(run({two, {after_ms(50'000), 3'000}, three}), 60'000);  // the agent's clock set back
}

TEST(AcceptedRuntime, LosesNoPartOfAMillisecondBetweenReports) {
    Meter meter = start_meter(t0);
    for (std::int64_t i = 1; i <= 1000; ++i)
        meter = accept(meter, {t0 + Duration(i * 1'500), i * 1'500 / 1000}, never);
    EXPECT_EQ(meter.accepted_ms, 1'500);
}

TEST(AcceptedRuntime, StandsStillWhileTheEngineIsDown) {
    Meter meter = start_meter(t0);
    meter = accept(meter, {after_ms(30'000), 30'000, EngineStatus::down}, never);
    EXPECT_EQ(meter.accepted_ms, 30'000);
    meter = accept(meter, {after_ms(50'000), 50'000}, never);
    meter = accept(meter, {after_ms(70'000), 70'000, EngineStatus::up}, never);
    EXPECT_EQ(meter.accepted_ms, 30'000);
    meter = accept(meter, {after_ms(90'000), 90'000}, never);
    EXPECT_EQ(meter.accepted_ms, 50'000);
}

TEST(AcceptedRuntime, TakesAWordAboutTheEngineThatBringsNoRuntime) {
    Meter meter = accept(start_meter(t0), {after_ms(30'000), 30'000}, never);
    meter = accept(meter, {after_ms(40'000), 30'000, EngineStatus::down}, never);
    EXPECT_TRUE(meter.engine_down);
    meter = accept(meter, {after_ms(100'000), 90'000}, never);
    EXPECT_EQ(meter.accepted_ms, 30'000);
}

TEST(AcceptedRuntime, IsCutWhereTheMeterStopsAndWhereTheFundingEnds) {
    Meter meter = accept(start_meter(t0), {after_ms(20'000), 20'000}, never);
    meter = stop_meter(meter, after_ms(30'000));
    EXPECT_EQ(stop_meter(meter, after_ms(35'000)).stopped_at, after_ms(30'000));
    meter = accept(meter, {after_ms(40'000), 40'000}, never);
    EXPECT_EQ(meter.accepted_ms, 30'000);
    meter = accept(meter, {after_ms(60'000), 60'000}, never);
    EXPECT_EQ(meter.accepted_ms, 30'000);

    const Meter funded = accept(start_meter(t0), {after_ms(90'000), 90'000}, after_ms(60'000));
    EXPECT_EQ(funded.accepted_ms, 60'000);
}

// What a bookkeeper with two lists and no shared code would say: between any two counted reports
// the renter owes the smaller of both clocks' steps, ours with what the steps before it left, and
// never more than our clock since the start.
struct Bookkeeper {
    explicit Bookkeeper(std::int64_t end_us_) : end_us(end_us_) {}

    void note(std::int64_t at_us, std::int64_t agent_ms) {
        if (agent_ms <= agent) return;
        const bool is_over = at_us > end_us;
        const std::int64_t ours = std::min(at_us, end_us) / 1000;
        const std::int64_t room = std::max<std::int64_t>(0, ours - us) + (is_over ? 0 : spare);
        const std::int64_t counted = std::min(agent_ms - agent, room);
        owed += counted;
        spare = is_over ? 0 : std::min<std::int64_t>(30'000, room - counted);
        agent = agent_ms;
        us = at_us / 1000;
    }

    std::int64_t end_us;
    std::int64_t agent = 0;
    std::int64_t us = 0;
    std::int64_t owed = 0;
    std::int64_t spare = 0;
};

TEST(AcceptedRuntime, AgreesWithABookkeeperWhateverTheAgentsClockDoes) {
    std::mt19937_64 random(20'261'115);
    for (int run = 0; run < 3'000; ++run) {
        const double speed = static_cast<double>(random() % 3000) / 1000.0;
        const std::int64_t end_us = 1'000'000 + static_cast<std::int64_t>(random() % 400'000'000);
        struct Arrival {
            std::int64_t at_us;
            std::int64_t agent_ms;
        };
        std::vector<Arrival> arrivals;
        std::int64_t made_us = 0;
        std::int64_t skew_ms = 0;
        for (int i = 0; i < 25; ++i) {
            made_us += static_cast<std::int64_t>(random() % 21'000'000);
            if (random() % 7 == 0) skew_ms -= static_cast<std::int64_t>(random() % 9'000);
            const auto agent =
                static_cast<std::int64_t>(static_cast<double>(made_us) * speed) / 1000;
            const Arrival sent{made_us, std::max<std::int64_t>(0, agent + skew_ms)};
            if (random() % 5 != 0) arrivals.push_back(sent);  // else it was lost
            if (random() % 5 == 0)                            // sent twice, or late
                arrivals.push_back(
                    {made_us + static_cast<std::int64_t>(random() % 30'000'000), sent.agent_ms});
        }
        std::stable_sort(arrivals.begin(), arrivals.end(),
                         [](const auto& a, const auto& b) { return a.at_us < b.at_us; });
        Meter meter = start_meter(t0);
        Bookkeeper bookkeeper(end_us);
        std::int64_t agent_most = 0;
        for (const Arrival& arrival : arrivals) {
            meter = accept(meter, {t0 + Duration(arrival.at_us), arrival.agent_ms},
                           t0 + Duration(end_us));
            bookkeeper.note(arrival.at_us, arrival.agent_ms);
            agent_most = std::max(agent_most, arrival.agent_ms);
            ASSERT_EQ(meter.accepted_ms, bookkeeper.owed) << "run " << run;
            ASSERT_LE(meter.accepted_ms, arrival.at_us / 1000) << "more than elapsed";
            ASSERT_LE(meter.accepted_ms, end_us / 1000) << "more than was funded";
            ASSERT_LE(meter.accepted_ms, agent_most) << "more than the agent counted";
        }
    }
}

}  // namespace
}  // namespace berth::rentals
