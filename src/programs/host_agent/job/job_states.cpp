#include "host_agent/job/job_states.hpp"

namespace berth::host_agent {
namespace {

using agent_protocol::JobPhase;
using Event = HostJobEvent;
using JobIn = HostJobState;

struct Transition {
    HostJobState from;
    HostJobEvent event;
    HostJobState to;
};

constexpr Transition transitions[] = {
    {JobIn::preparing, Event::ready_taken, JobIn::running},
    {JobIn::preparing, Event::stop_wanted, JobIn::stopping},
    {JobIn::preparing, Event::ended, JobIn::stopped},
    {JobIn::running, Event::stop_wanted, JobIn::stopping},
    {JobIn::running, Event::ended, JobIn::stopped},
    {JobIn::stopping, Event::ended, JobIn::stopped},
    // What goes wrong while files may be fetched is told as another end.
    {JobIn::stopped, Event::ended, JobIn::stopped},
    {JobIn::stopped, Event::clean_wanted, JobIn::cleaning},
    {JobIn::cleaning, Event::wiped, JobIn::cleaned},
    {JobIn::cleaning, Event::wipe_failed, JobIn::stopped},
    {JobIn::cleaned, Event::cleaned_taken, JobIn::forgotten},
};

}  // namespace

std::optional<HostJobState> next_state(HostJobState state, HostJobEvent event) {
    for (const Transition& each : transitions)
        if (each.from == state && each.event == event) return each.to;
    return std::nullopt;
}

JobPhase phase_of(HostJobState state) {
    switch (state) {
        case HostJobState::preparing: return JobPhase::preparing;
        case HostJobState::running: return JobPhase::running;
        case HostJobState::stopping: return JobPhase::stopping;
        case HostJobState::stopped: return JobPhase::stopped;
        case HostJobState::cleaning:
        case HostJobState::cleaned:
        case HostJobState::forgotten: break;
    }
    return JobPhase::cleaning;
}

HostJobState state_of(JobPhase phase) {
    switch (phase) {
        case JobPhase::preparing: return HostJobState::preparing;
        case JobPhase::running: return HostJobState::running;
        case JobPhase::stopping: return HostJobState::stopping;
        case JobPhase::stopped: return HostJobState::stopped;
        case JobPhase::cleaning: break;
    }
    return HostJobState::cleaning;
}

}  // namespace berth::host_agent
