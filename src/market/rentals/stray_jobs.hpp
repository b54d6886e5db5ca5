// Jobs that a machine holds and the books do not know. After a restored backup these are of the
// time that was lost. Nobody is charged for them; what matters is that the machine is stopped,
// wiped, and not rented before it said so.
//
// A machine that holds nothing else takes the place of the stray job at once: it is CLEANING, and
// not for rent. On a machine that serves a job of ours the stray waits until that one was cleaned.
#pragma once

#include "machines/job_side.hpp"
#include "rentals/lifecycle.hpp"

namespace berth::rentals {

// More than any agent reports at once.
inline constexpr std::int64_t strays_open_max = 64;
inline constexpr Duration strays_kept = std::chrono::hours(24);

class StrayJobs {
public:
    explicit StrayJobs(const Lifecycle& lifecycle) : lifecycle_(lifecycle) {}

    // The agent reports this job. STOP and CLEAN are queued unless they wait already.
    void take_in(const db::Context& context, machines::Machine& machine, JobId job) const;
    // What the agent says of one; NOT_FOUND when it was never reported.
    machines::JobEventOutcome event(const db::Context& context, machines::Machine& machine,
                                    JobId job, const agent_protocol::JobEvent& event) const;

private:
    const Lifecycle& lifecycle_;
};

// What the machine held was cleaned: the next stray job takes its place, or the machine may be
// rented again.
void end_cleaning(const db::Context& context, machines::Machine& machine);

}  // namespace berth::rentals
