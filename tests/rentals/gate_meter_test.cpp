// The meter stands while nobody can reach a workload: whoever looks, and whenever.
#include "rentals/meter.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace berth::rentals {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time gated_from{1'800'000'000'000'000};
constexpr Time no_limit{9'000'000'000'000'000'000};

Time at_s(std::int64_t s) { return gated_from + seconds(s); }

Terms hourly(std::int64_t budget_ms, std::int64_t duration_s = 31'536'000, Time until = no_limit) {
    return {Micro{ms_per_hour}, Micro{budget_ms}, duration_s, until};  // a micro a millisecond
}

// All stands of a run that was looked at then.
std::vector<Stand> looked_at(const std::vector<Gap>& all, const std::vector<std::int64_t>& looks) {
    Carriage carriage{.looked_until = gated_from};
    std::vector<Stand> stands;
    for (const std::int64_t s : looks) {
        const Time now = at_s(s);
        std::vector<Gap> gaps;  // as gates tell of them then
        for (const Gap& gap : all) {
            if (gap.from >= now || (gap.until && *gap.until <= carriage.looked_until)) continue;
            gaps.push_back(gap);
            if (gap.until && *gap.until > now) gaps.back().until.reset();
        }
        const Looked looked = look_at(carriage, gaps, {gated_from, now});
        for (const Stand& each : looked.stands)
            if (!stands.empty() && stands.back().until == each.from)
                stands.back().until = each.until;
            else
                stands.push_back(each);
        carriage = looked.carriage;
    }
    return stands;
}

TEST(StandingMeter, StandsFromTheSixtyFirstSecondToTheEndOfAGap) {
    const std::vector<Gap> gaps{{at_s(100), at_s(400)}};
    EXPECT_EQ(looked_at(gaps, {1000}), (std::vector<Stand>{{at_s(160), at_s(400)}}));
    EXPECT_TRUE(looked_at({{at_s(100), at_s(160)}}, {1000}).empty());
}

TEST(StandingMeter, IsTheSameHoweverOftenItIsLookedAt) {
    const std::vector<Gap> gaps{
        {at_s(100), at_s(400)}, {at_s(410), at_s(450)}, {at_s(500), at_s(561)}, {at_s(700), {}}};
    const std::vector<Stand> stands{
        {at_s(160), at_s(400)}, {at_s(560), at_s(561)}, {at_s(760), at_s(1000)}};
    EXPECT_EQ(looked_at(gaps, {1000}), stands);
    EXPECT_EQ(looked_at(gaps, {150, 170, 399, 405, 1000, 1000}), stands);
    std::vector<std::int64_t> each;
    for (std::int64_t s = 1; s <= 1000; ++s) each.push_back(s);
    EXPECT_EQ(looked_at(gaps, each), stands);
}

// In between it was we who could not hear.
TEST(StandingMeter, AddsUpWhatGoesOnAfterAnOutageOfOurs) {
    const std::vector<Gap> gaps{{at_s(100), at_s(145)},
                                {at_s(600), at_s(610), true},
                                {at_s(700), at_s(800), true},
                                {at_s(900), at_s(990)}};
    const std::vector<Stand> stands{{at_s(715), at_s(800)}, {at_s(960), at_s(990)}};
    Carriage carriage{.looked_until = gated_from};
    EXPECT_EQ(look_at(carriage, gaps, {gated_from, at_s(1000)}).stands, stands);
    const std::vector<Gap> longer{{at_s(100), at_s(200)}, {at_s(600), {}, true}};
    const Looked looked = look_at(carriage, longer, {gated_from, at_s(650)});
    EXPECT_EQ(looked.stands, (std::vector<Stand>{{at_s(160), at_s(200)}, {at_s(615), at_s(650)}}));
    EXPECT_EQ(looked.carriage.stands_since, at_s(615)) << "its minute was over before";
    EXPECT_EQ(look_at(looked.carriage, longer, {gated_from, at_s(660)}).stands,
              (std::vector<Stand>{{at_s(650), at_s(660)}}));
    // What was before the meter is none of its minute.
    const std::vector<Gap> early{{gated_from - seconds(40), at_s(10)}, {at_s(600), {}, true}};
    EXPECT_EQ(look_at(carriage, early, {gated_from, at_s(700)}).stands,
              (std::vector<Stand>{{at_s(650), at_s(700)}}));
}

TEST(StandingMeter, KnowsSinceWhenItIsNotCarriedAndSinceWhenItStands) {
    const std::vector<Gap> gap{{at_s(100), {}}};
    const Carriage first =
        look_at({.looked_until = gated_from}, gap, {gated_from, at_s(120)}).carriage;
    EXPECT_EQ(first.uncarried_since, at_s(100));
    EXPECT_FALSE(first.stands_since);
    const Carriage second = look_at(first, gap, {gated_from, at_s(160)}).carriage;
    EXPECT_EQ(second.stands_since, at_s(160));
    const std::vector<Gap> over{{at_s(100), at_s(170)}};
    const Carriage third = look_at(second, over, {gated_from, at_s(180)}).carriage;
    EXPECT_FALSE(third.uncarried_since);
    EXPECT_FALSE(third.stands_since);
}

TEST(StandingMeter, CountsTheMinuteOfADoorThatIsOlderThanTheMeterFromItsStart) {
    const std::vector<Gap> gap{{gated_from - seconds(500), at_s(90)}};
    EXPECT_EQ(looked_at(gap, {200}), (std::vector<Stand>{{at_s(60), at_s(90)}}));
}

TEST(StandingMeter, StandsNoLongerThanItRunsAndStillKnowsWhatIsCarried) {
    const std::vector<Gap> gap{{at_s(100), {}}};
    const Looked looked =
        look_at({.looked_until = gated_from}, gap, {gated_from, at_s(300), at_s(200)});
    EXPECT_EQ(looked.stands, (std::vector<Stand>{{at_s(160), at_s(200)}}));
    EXPECT_EQ(looked.carriage.uncarried_since, at_s(100));
    const std::vector<Gap> over{{at_s(100), at_s(310)}};
    const Looked later = look_at(looked.carriage, over, {gated_from, at_s(320), at_s(200)});
    EXPECT_TRUE(later.stands.empty());
    EXPECT_FALSE(later.carriage.uncarried_since);
}

TEST(StandingMeter, BillsNothingThatStoodAndAllOfTheRest) {
    const std::vector<Stand> stands{{at_s(60), at_s(100)}};
    const Meter one = accept(start_meter(gated_from), {at_s(200), 200'000}, no_limit, stands);
    EXPECT_EQ(one.accepted_ms, 160'000);
    // The same with a report in the middle of it.
    Meter meter = accept(start_meter(gated_from), {at_s(80), 80'000}, no_limit,
                         std::vector<Stand>{{at_s(60), at_s(80)}});
    EXPECT_EQ(meter.accepted_ms, 60'000);
    meter = accept(meter, {at_s(200), 200'000}, no_limit, stands);
    EXPECT_EQ(meter.accepted_ms, 160'000);
    // And with one that tells of the end, long after the meter was stopped.
    meter = stop_meter(start_meter(gated_from), at_s(90));
    EXPECT_EQ(accept(meter, {at_s(200), 200'000}, no_limit, stands).accepted_ms, 60'000);
}

TEST(StandingMeter, CarriesNothingAcrossAStand) {
    Meter meter = accept(start_meter(gated_from), {at_s(50), 25'000}, no_limit);
    ASSERT_EQ(meter.carry_ms, 25'000);
    const std::vector<Stand> stands{{at_s(60), at_s(100)}};
    meter = accept(meter, {at_s(120), 500'000}, no_limit, stands);
    EXPECT_EQ(meter.accepted_ms, 25'000 + 70'000 - 40'000) << "the counter ran while it stood";
    EXPECT_EQ(meter.carry_ms, 0);
    // A stand of long ago does not matter any more.
    meter = accept(meter, {at_s(140), 510'000}, no_limit, stands);
    EXPECT_EQ(meter.carry_ms, 10'000);
}

TEST(StandingMeter, SaysHowMuchHadRunByAMidnightInAStand) {
    const std::vector<Stand> stands{{at_s(60), at_s(100)}};
    const Meter meter = start_meter(gated_from);
    const Report report{at_s(200), 200'000};
    EXPECT_EQ(accepted_by(meter, report, no_limit, at_s(50), stands), 50'000);
    EXPECT_EQ(accepted_by(meter, report, no_limit, at_s(80), stands), 60'000);
    EXPECT_EQ(accepted_by(meter, report, no_limit, at_s(110), stands), 70'000);
}

TEST(StandingMeter, IsPaidForLongerByWhatItStoodWithinDurationAndAvailability) {
    EXPECT_EQ(funded_through(hourly(100'000), gated_from, 40'000).at, at_s(140));
    EXPECT_EQ(funded_through(hourly(100'000), gated_from, 40'000).limit, Limit::funded_expiry);
    EXPECT_EQ(funded_through(hourly(100'000, 120), gated_from, 40'000).at, at_s(120));
    EXPECT_EQ(funded_through(hourly(100'000, 120), gated_from, 40'000).limit,
              Limit::duration_limit);
    EXPECT_EQ(funded_through(hourly(100'000, 1000, at_s(130)), gated_from, 40'000).limit,
              Limit::availability_ended);
}

TEST(StandingMeter, IsProlongedByNoStandThatBeginsWhenTheMoneyIsOver) {
    const Terms terms = hourly(100'000);
    const std::vector<Stand> early{{at_s(60), at_s(90)}, {at_s(125), at_s(145)}};
    EXPECT_EQ(prolonged_by(terms, gated_from, 0, early), 50'000);
    const std::vector<Stand> late{{at_s(60), at_s(90)}, {at_s(130), at_s(145)}};
    EXPECT_EQ(prolonged_by(terms, gated_from, 0, late), 30'000);
    // A budget that was raised meanwhile reaches it.
    EXPECT_EQ(prolonged_by(hourly(101'000), gated_from, 0, late), 45'000);
}

// Another way to say what is owed: second by second, with three lists.
TEST(StandingMeter, AgreesWithSecondsThatAreCountedOneByOne) {
    std::mt19937_64 random(27);
    const auto below = [&](std::int64_t bound) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    for (int run = 0; run < 2'000; ++run) {
        constexpr std::int64_t span = 1'500;
        std::vector<bool> carried(span, true);
        std::vector<Gap> gaps;
        for (std::int64_t s = below(200); s < span;) {
            const std::int64_t ends = std::min(span, s + 1 + below(300));
            gaps.push_back({at_s(s), at_s(ends)});
            for (std::int64_t i = s + 60; i < ends; ++i)
                carried[static_cast<std::size_t>(i)] = false;
            s = ends + 1 + below(300);
        }
        const std::int64_t budget_s = 50 + below(1'500);
        std::int64_t owed = 0;
        for (std::int64_t s = 0; s < span && owed < budget_s; ++s)
            owed += carried[static_cast<std::size_t>(s)] ? 1 : 0;

        const Terms terms = hourly(budget_s * 1000);
        Meter meter = start_meter(gated_from);
        Carriage carriage{.looked_until = gated_from};
        std::vector<Stand> stands;
        std::int64_t stood = 0;
        for (std::int64_t s = 0; s < span;) {
            s = std::min(span, s + 1 + below(90));
            std::vector<Gap> told;
            for (const Gap& gap : gaps) {
                if (gap.from >= at_s(s) || *gap.until <= carriage.looked_until) continue;
                told.push_back(gap);
                if (*gap.until > at_s(s)) told.back().until.reset();
            }
            const Looked looked = look_at(carriage, told, {gated_from, at_s(s)});
            carriage = looked.carriage;
            stands.insert(stands.end(), looked.stands.begin(), looked.stands.end());
            stood = prolonged_by(terms, gated_from, stood, looked.stands);
            if (below(3) == 0 && s < span) continue;  // looked at, and not reported
            meter = accept(meter, {at_s(s), s * 1000}, funded_through(terms, gated_from, stood).at,
                           stands);
        }
        ASSERT_EQ(meter.accepted_ms, owed * 1000) << "run " << run;
        ASSERT_LE(charge_of(terms, meter.accepted_ms), terms.budget);
    }
}

}  // namespace
}  // namespace berth::rentals
