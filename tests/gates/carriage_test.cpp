// Since when a job's doors are not carried, by what gates said and when.
#include "gates/yard.hpp"

namespace berth::test {
namespace {

class Carriage : public Yard {
protected:
    // A job with two doors, carried from second 0 on.
    Carriage() {
        listen();
        gate = live_gate('a');
        agent = host();
        job = job_of(*agent);
        given = give(*agent, {"ssh", "openai"});
        report(gate, all_of(given));
    }
    // Seconds from and to of every gap; -1: it goes on.
    std::vector<std::pair<std::int64_t, std::int64_t>> seconds() {
        std::vector<std::pair<std::int64_t, std::int64_t>> list;
        for (const gates::Gap& gap : gaps(job))
            if (!gap.to || at(*gap.to) > 0)
                list.emplace_back(at(gap.from), gap.to ? at(*gap.to) : -1);
        return list;
    }
    // The gate goes on reporting as it should, and we go on listening.
    void carry(std::int64_t for_s, bool linked = true) {
        for (std::int64_t i = 0; i < for_s; i += 5) {
            wait(5);
            listen();
            report(gate, all_of(given, linked));
        }
    }
    using Seconds = std::vector<std::pair<std::int64_t, std::int64_t>>;

    Gate gate;
    std::unique_ptr<MachineAgent> agent;
    JobId job;
    DoorsGiven given;
};

TEST_F(Carriage, OfAJobIsThereWhileEveryDoorHasALinkAndItsGateReports) {
    EXPECT_TRUE(carriage(job).by_gate);
    EXPECT_FALSE(carriage(job).uncarried_since);
    carry(300);
    EXPECT_FALSE(carriage(job).uncarried_since);
    EXPECT_EQ(seconds(), Seconds{});
    EXPECT_FALSE(carriage(JobId{*parse_uuid(harness.new_id())}).by_gate);
}

TEST_F(Carriage, EndsWithTheLinkAndComesBackWithIt) {
    carry(20);
    carry(10, false);
    ASSERT_TRUE(carriage(job).uncarried_since);
    EXPECT_EQ(at(*carriage(job).uncarried_since), 25);
    EXPECT_EQ(seconds(), (Seconds{{25, -1}}));
    carry(50, false);
    EXPECT_EQ(at(*carriage(job).uncarried_since), 25) << "it does not begin anew";
    carry(5);
    EXPECT_FALSE(carriage(job).uncarried_since);
    EXPECT_EQ(seconds(), (Seconds{{25, 85}})) << "who looks late finds it all the same";
}

TEST_F(Carriage, OfAJobNeedsAllOfItsDoors) {
    wait(5);
    report(gate, {{.door = given.doors[0].door_id, .linked = true},
                  {.door = given.doors[1].door_id, .linked = false}});
    EXPECT_EQ(seconds(), (Seconds{{5, -1}}));
    wait(5);
    report(gate, {{.door = given.doors[0].door_id, .linked = true}});
    EXPECT_EQ(seconds(), (Seconds{{5, -1}})) << "a door that is left out has no link";
    wait(5);
    report(gate, {{.door = given.doors[1].door_id, .linked = true}});
    EXPECT_EQ(seconds(), (Seconds{{5, -1}})) << "one gap of both";
    wait(5);
    report(gate, all_of(given));
    EXPECT_EQ(seconds(), (Seconds{{5, 20}}));
}

// A link by which nobody gets through carries nothing, whatever its machine says.
TEST_F(Carriage, EndsWhenCallsAreNotAnsweredAndComesBackWhenOneIs) {
    carry(20);
    for (std::int64_t failed = 1; failed <= 3; ++failed) {
        wait(5);
        listen();
        auto doors = all_of(given);
        doors.front().unanswered = failed;
        report(gate, doors);
    }
    ASSERT_TRUE(carriage(job).uncarried_since);
    EXPECT_EQ(at(*carriage(job).uncarried_since), 25);
    carry(5);
    EXPECT_EQ(seconds(), (Seconds{{25, 40}}));
}

TEST_F(Carriage, EndsWithTheLastReportOfAGateThatFallsSilent) {
    carry(10);
    for (int i = 0; i < 3; ++i) {
        wait(5);
        listen();
        EXPECT_FALSE(carriage(job).uncarried_since) << i;
    }
    wait(1);
    listen();
    ASSERT_TRUE(carriage(job).uncarried_since);
    EXPECT_EQ(at(*carriage(job).uncarried_since), 10);
    for (int i = 0; i < 20; ++i) {
        wait(5);
        listen();
    }
    report(gate, all_of(given));
    EXPECT_FALSE(carriage(job).uncarried_since);
    EXPECT_EQ(seconds(), (Seconds{{10, 126}})) << "the report that came back closes it";
}

TEST_F(Carriage, SilenceThatEndsWithoutALinkIsOneGap) {
    carry(10);
    for (int i = 0; i < 8; ++i) {
        wait(5);
        listen();
    }
    report(gate, all_of(given, false));
    EXPECT_EQ(seconds(), (Seconds{{10, -1}}));
    carry(5);
    EXPECT_EQ(seconds(), (Seconds{{10, 55}}));
}

TEST_F(Carriage, ForOneMomentEndsAGapAndSilenceAfterItIsAnother) {
    carry(10);
    carry(40, false);  // since 15
    carry(5);          // at 55, and never again
    for (int i = 0; i < 8; ++i) {
        wait(5);
        listen();
    }
    EXPECT_EQ(seconds(), (Seconds{{15, 55}, {55, -1}}));
    report(gate, all_of(given));
    EXPECT_EQ(seconds(), (Seconds{{15, 55}, {55, 95}})) << "whoever looked, and when";
}

TEST_F(Carriage, IsNotLostByOurOwnOutage) {
    carry(10);
    wait(600);  // nobody listens
    EXPECT_TRUE(carriage(job).uncarried_since) << "nobody knows yet that it was ours";
    listen();
    EXPECT_FALSE(carriage(job).uncarried_since) << "the gate may yet be heard";
    wait(5);
    listen();
    report(gate, all_of(given));
    for (const auto& [from, to] : seconds()) EXPECT_LE(to - from, 15) << from;
    EXPECT_FALSE(carriage(job).uncarried_since);
}

TEST_F(Carriage, LostBeforeOurOutageIsCountedAroundIt) {
    carry(10);
    carry(50, false);  // since 15
    EXPECT_EQ(seconds(), (Seconds{{15, -1}}));
    wait(600);
    listen();
    EXPECT_EQ(seconds(), (Seconds{{15, 60}, {660, -1}}));
    EXPECT_TRUE(gaps(job).back().goes_on) << "nobody carried it in between";
    report(gate, all_of(given));
    EXPECT_EQ(seconds(), (Seconds{{15, 60}}));
    carry(5, false);
    EXPECT_FALSE(gaps(job).back().goes_on) << "it was carried for a moment";
}

TEST_F(Carriage, EndsWhenTheHostGivesItsDoorsBack) {
    carry(10);
    wait(5);
    give(*agent, {"ssh"});
    EXPECT_EQ(seconds(), (Seconds{{15, -1}})) << "nobody gets in by a door that is not there";
    wait(5);
    listen();
    report(gate, {{.door = given.doors[0].door_id, .linked = true}});
    EXPECT_EQ(seconds(), (Seconds{{15, -1}}));
    give(*agent, {"ssh", "openai"});
    EXPECT_EQ(seconds(), (Seconds{{15, -1}})) << "given again is not carried";
    report(gate, all_of(given));
    EXPECT_EQ(seconds(), (Seconds{{15, 20}}));
}

TEST_F(Carriage, ADoorThatWasNeverUsedIsNoneOfTheJobs) {
    carry(5);
    give(*agent, {"ssh", "openai", "mistake"});
    EXPECT_EQ(seconds(), (Seconds{{5, -1}}));
    give(*agent, {"ssh", "openai"});
    EXPECT_EQ(seconds(), Seconds{});
}

TEST_F(Carriage, GoesOnAtAnotherGateFromTheFirstReportThere) {
    carry(10);
    const Gate there = live_gate('b');
    wait(5);
    const DoorsGiven moved = give(*agent, {"ssh", "openai"}, 90);
    ASSERT_EQ(moved.gate.value.value().gate_id, there.id);
    EXPECT_EQ(seconds(), (Seconds{{15, -1}}));
    wait(2);
    report(gate, all_of(given));
    EXPECT_EQ(seconds(), (Seconds{{15, -1}})) << "the old gate's word counts no more";
    report(there, all_of(moved));
    EXPECT_EQ(seconds(), (Seconds{{15, 17}}));
}

TEST_F(Carriage, OfAMovedDoorIsMissingSinceItsGateFellSilent) {
    carry(10);
    for (int i = 0; i < 14; ++i) {
        wait(5);
        listen();
    }
    const Gate there = live_gate('b');
    const DoorsGiven moved = give(*agent, {"ssh", "openai"});
    ASSERT_EQ(moved.gate.value.value().gate_id, there.id);
    EXPECT_EQ(seconds(), (Seconds{{10, -1}}));
    report(there, all_of(moved));
    EXPECT_EQ(seconds(), (Seconds{{10, 80}}));
}

TEST_F(Carriage, SurvivesAnUpgradeOfTheGate) {
    carry(20);
    Gate newer = gate;
    newer.boot = "boot-2";
    newer.started = 20;
    report(newer);
    EXPECT_FALSE(carriage(job).uncarried_since) << "the older one has the links";
    gate.draining = true;
    report(gate, all_of(given, false));
    EXPECT_FALSE(carriage(job).uncarried_since) << "they are on their way";
    wait(4);
    listen();
    report(newer, all_of(given));
    report(gate, all_of(given, false));
    wait(5);
    listen();
    report(newer, all_of(given));
    EXPECT_EQ(seconds(), Seconds{});
}

TEST_F(Carriage, IsLostWhenLinksDoNotComeToTheNewerProcess) {
    carry(20);
    Gate newer = gate;
    newer.boot = "boot-2";
    newer.started = 20;
    report(newer);
    gate.draining = true;
    report(gate, all_of(given, false));
    wait(5);
    listen();
    report(newer);
    report(gate, all_of(given, false));
    EXPECT_EQ(seconds(), (Seconds{{25, -1}}));
}

TEST_F(Carriage, AfterAKillBelongsToTheProcessThatFollowed) {
    carry(20);
    Gate next = gate;
    next.boot = "boot-2";
    next.started = 30;
    wait(12);
    listen();
    report(next);
    EXPECT_FALSE(carriage(job).uncarried_since) << "the one before may yet be heard";
    wait(4);
    listen();
    report(next);
    ASSERT_TRUE(carriage(job).uncarried_since);
    EXPECT_EQ(at(*carriage(job).uncarried_since), 20);
    wait(5);
    listen();
    report(next, all_of(given));
    EXPECT_EQ(seconds(), (Seconds{{20, 41}}));
}

}  // namespace
}  // namespace berth::test
