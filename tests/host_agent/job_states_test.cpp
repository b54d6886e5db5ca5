// The states of a job on its host: every event in every state.
#include "host_agent/job/job_states.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/enum_names.hpp"

namespace berth::host_agent {
namespace {

using JobIn = HostJobState;
using Event = HostJobEvent;

template <class E, class F>
void for_every(F each) {
    for (const EnumName& name : EnumTable<E>::names) each(static_cast<E>(name.value));
}

TEST(JobStates, GoOnlyWhereTheTableSays) {
    const std::set<std::tuple<JobIn, Event, JobIn>> expected{
        {JobIn::preparing, Event::ready_taken, JobIn::running},
        {JobIn::preparing, Event::stop_wanted, JobIn::stopping},
        {JobIn::preparing, Event::ended, JobIn::stopped},
        {JobIn::running, Event::stop_wanted, JobIn::stopping},
        {JobIn::running, Event::ended, JobIn::stopped},
        {JobIn::stopping, Event::ended, JobIn::stopped},
        {JobIn::stopped, Event::ended, JobIn::stopped},
        {JobIn::stopped, Event::clean_wanted, JobIn::cleaning},
        {JobIn::cleaning, Event::wiped, JobIn::cleaned},
        {JobIn::cleaning, Event::wipe_failed, JobIn::stopped},
        {JobIn::cleaned, Event::cleaned_taken, JobIn::forgotten},
    };
    std::set<std::tuple<JobIn, Event, JobIn>> found;
    for_every<JobIn>([&](JobIn state) {
        for_every<Event>([&](Event event) {
            if (const auto next = next_state(state, event)) found.insert({state, event, *next});
        });
    });
    EXPECT_EQ(found, expected);
}

TEST(JobStates, ComeBackFromTheDiskAsTheirPhase) {
    for_every<agent_protocol::JobPhase>(
        [](agent_protocol::JobPhase phase) { EXPECT_EQ(phase_of(state_of(phase)), phase); });
    // That a wipe was shown is in the evidence that waits, not in the phase.
    EXPECT_EQ(state_of(phase_of(JobIn::cleaned)), JobIn::cleaning);
}

}  // namespace
}  // namespace berth::host_agent
