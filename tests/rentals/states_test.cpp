#include "rentals/states.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/enum_names.hpp"
#include "base/problem.hpp"
#include "db/name_list.hpp"
#include "rentals/deadlines.hpp"
#include "rentals/schema.hpp"

namespace berth::rentals {
namespace {

std::vector<JobState> states() {
    std::vector<JobState> list;
    for (const auto& each : EnumTable<JobState>::names)
        list.push_back(static_cast<JobState>(each.value));
    return list;
}

std::vector<Event> events() {
    std::vector<Event> list;
    for (const auto& each : EnumTable<Event>::names) list.push_back(static_cast<Event>(each.value));
    return list;
}

std::vector<Facts> all_facts() {
    std::vector<Facts> list;
    for (int i = 0; i < 8; ++i) list.push_back({(i & 1) != 0, (i & 2) != 0, (i & 4) != 0});
    return list;
}

TEST(JobStates, HaveAtMostOneLineForEachStateEventAndFacts) {
    for (const JobState from : states())
        for (const Event event : events())
            for (const Facts& facts : all_facts()) {
                int lines = 0;
                for (const Transition& line : transitions())
                    if (line.from == from && line.event == event && allows(from, event, facts) &&
                        &find(from, event, facts) == &line)
                        ++lines;
                EXPECT_EQ(lines, allows(from, event, facts) ? 1 : 0);
            }
}

TEST(JobStates, RefuseEveryOtherPairWithAConflictThatNamesTheState) {
    int refused = 0;
    for (const JobState from : states())
        for (const Event event : events()) {
            if (allows(from, event, {})) continue;
            try {
                find(from, event, {});
                FAIL() << enum_name(from) << " took " << enum_name(event);
            } catch (const Problem& problem) {
                EXPECT_EQ(problem.code, Code::conflict);
                EXPECT_NE(problem.message.find(enum_name(from)), std::string::npos);
                ++refused;
            }
        }
    EXPECT_GT(refused, 100);
}

TEST(JobStates, BillNothingThatWasNeverReady) {
    for (const Transition& line : transitions()) {
        if (line.has(Effect::start_meter)) {
            EXPECT_EQ(line.to, JobState::READY);
        }
        if (line.has(Effect::stop_meter)) {
            EXPECT_TRUE(is_metered(line.from)) << enum_name(line.event);
        }
    }
}

TEST(JobStates, SettleOnceOnTheWayToTheEndAndNowhereElse) {
    for (const Transition& line : transitions()) {
        const bool ends = !is_over(line.from) && is_over(line.to);
        EXPECT_EQ(line.has(Effect::settle), ends)
            << enum_name(line.from) << " " << enum_name(line.event);
    }
}

TEST(JobStates, SayWhyAJobEndedBeforeItIsOver) {
    // STOPPING was entered with a reason already.
    for (const Transition& line : transitions())
        if (!is_over(line.from) && line.from != JobState::STOPPING && line.to != line.from &&
            (is_over(line.to) || line.to == JobState::STOPPING)) {
            EXPECT_TRUE(line.reason.has_value()) << enum_name(line.event);
        }
}

TEST(JobStates, EveryStateThatIsNotTheLastHasAnEndOfPatience) {
    std::set<JobState> waited;
    for (const Deadline& each : deadlines()) {
        waited.insert(each.state);
        EXPECT_TRUE(allows(each.state, each.event, {.is_noticed = true}))
            << enum_name(each.state) << " " << enum_name(each.event);
    }
    for (const JobState state : states()) {
        // READY becomes RUNNING in the same transaction.
        const bool waits = state != JobState::READY && state != JobState::CLOSED;
        EXPECT_EQ(waited.contains(state), waits) << enum_name(state);
    }
}

TEST(JobStates, FollowAStopUntilTheMachineIsRentedAgain) {
    JobState state = JobState::RUNNING;
    for (const Event event :
         {Event::renter_stop, Event::stopped, Event::retrieval_over, Event::cleaned})
        state = find(state, event, {.start_delivered = true}).to;
    EXPECT_EQ(state, JobState::CLOSED);
}

TEST(JobStates, LetANoticeComeOnceAndOnlyForInterruptibleJobs) {
    EXPECT_FALSE(allows(JobState::RUNNING, Event::preempt_notice, {}));
    EXPECT_TRUE(allows(JobState::RUNNING, Event::preempt_notice, {.is_interruptible = true}));
    EXPECT_FALSE(allows(JobState::RUNNING, Event::preempt_notice,
                        {.is_interruptible = true, .is_noticed = true}));
    EXPECT_FALSE(allows(JobState::STARTING, Event::preempt_notice, {.is_interruptible = true}));
}

TEST(JobStates, AreEachOfOneKind) {
    for (const JobState state : states())
        EXPECT_EQ(is_before_ready(state) + is_metered(state) + (state == JobState::STOPPING) +
                      is_over(state),
                  1)
            << enum_name(state);
    for (const JobState state : states()) EXPECT_NE(is_live(state), is_over(state));
}

TEST(JobStates, ArePicturedInTheReadmeAsTheyAre) {
    std::ifstream file(BERTH_SOURCE_DIR "/src/market/rentals/README.md");
    std::stringstream text;
    text << file.rdbuf();
    for (const std::string& table : {readme_table_of_states(), readme_table_of_deadlines()})
        EXPECT_NE(text.str().find(table), std::string::npos)
            << "put this into src/market/rentals/README.md:\n"
            << table;
}

// A statement is answered from a partial index only if it asks as the index was made.
TEST(JobStates, AreListedInTheIndexAsInTheCode) {
    std::string history;
    for (const db::Migration& each : migrations) history += each.sql;
    const std::string list = db::name_list(live_states);
    EXPECT_NE(history.find("WHERE state IN " + list), std::string::npos) << list;
}

}  // namespace
}  // namespace berth::rentals
