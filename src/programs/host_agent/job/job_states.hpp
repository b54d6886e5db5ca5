// The states of a job on its host and what leads from one to another: one table, which a test holds
// to every pair. What of it the server and the disk hear is the phase.
#pragma once

#include <boost/describe.hpp>
#include <optional>

#include "agent_protocol/types.hpp"

namespace berth::host_agent {

enum class HostJobState {
    preparing,  // fetched, started, probed; READY is told until the server takes it
    running,
    stopping,
    stopped,    // over and told; the work folder is kept until CLEAN
    cleaning,   // folder and cards are wiped; one that failed is told, and then asked for again
    cleaned,    // wiped, and CLEANED is told until the server has heard it
    forgotten,  // the server has; nothing of it is to be kept
};
BOOST_DESCRIBE_ENUM(HostJobState, preparing, running, stopping, stopped, cleaning, cleaned,
                    forgotten)

enum class HostJobEvent {
    ready_taken,    // by the server
    stop_wanted,    // by STOP, by CLEAN or by a deadline
    ended,          // nothing of the workload runs any more
    clean_wanted,   // by CLEAN
    wiped,          // and it can be shown
    wipe_failed,    // and the server has heard it
    cleaned_taken,  // by the server
};
BOOST_DESCRIBE_ENUM(HostJobEvent, ready_taken, stop_wanted, ended, clean_wanted, wiped, wipe_failed,
                    cleaned_taken)

// Empty when the event cannot happen in that state.
std::optional<HostJobState> next_state(HostJobState state, HostJobEvent event);

agent_protocol::JobPhase phase_of(HostJobState state);
HostJobState state_of(agent_protocol::JobPhase phase);

}  // namespace berth::host_agent
