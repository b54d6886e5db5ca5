// What machines ask of whoever keeps the jobs. An agent speaks of its jobs in heartbeats, events
// and acknowledgements; machines checks who speaks and with which fence, and passes the rest on.
#pragma once

#include "machines/machine.hpp"

namespace berth::machines {

// How the agent took a command that belongs to a job.
struct CommandAck {
    CommandId command_id;
    agent_protocol::CommandKind kind = agent_protocol::CommandKind::start;
    JobId job_id;
    agent_protocol::Ack ack;
};

struct JobEventOutcome {
    std::string state;  // of the job, after the event
    std::optional<agent_protocol::Lease> lease;
};

class JobSide {
public:
    virtual ~JobSide() = default;

    // Usage of the reported jobs is accepted and their leases are granted, in this transaction.
    virtual std::vector<agent_protocol::Lease> heartbeat(
        const db::Context& context, Machine& machine,
        const std::vector<agent_protocol::JobReport>& jobs) = 0;
    // The leases that stand, granting none.
    virtual std::vector<agent_protocol::Lease> leases(const db::Context& context,
                                                      const Machine& machine) = 0;
    // Throws NOT_FOUND for a job that is not this machine's.
    virtual JobEventOutcome event(const db::Context& context, Machine& machine, JobId job,
                                  const agent_protocol::JobEvent& event) = 0;
    virtual void acknowledge(const db::Context& context, Machine& machine,
                             const CommandAck& ack) = 0;
};

}  // namespace berth::machines
