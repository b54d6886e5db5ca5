// What machines ask of whoever keeps the jobs. An agent speaks of its jobs in heartbeats, events
// and acknowledgements; machines checks who speaks and with which fence, and passes the rest on.
#pragma once

#include "machines/machine.hpp"

namespace berth::machines {

// A job as the agent sees it, in a heartbeat.
struct ReportedJob {
    JobId job_id;
    std::int64_t lease_seq = 0;
    std::int64_t budget_version = 0;
    std::string phase;
    std::optional<std::string> container_id;
    std::int64_t runtime_ms = 0;
};

// What lets the agent go on with a job until expires_at.
struct Lease {
    JobId job_id;
    std::int64_t lease_seq = 0;
    std::int64_t budget_version = 0;
    Micro budget_micro;
    std::optional<Time> funded_through;
    Time expires_at;
};

// What happened to a job, by the agent's word.
struct JobEvent {
    JobId job_id;
    std::int64_t lease_seq = 0;
    std::string kind;
    Time at;
    std::string evidence;  // a JSON object
};

struct JobEventOutcome {
    std::string state;  // of the job
    std::optional<Lease> lease;
};

// How the agent took a command that belongs to a job.
struct CommandAck {
    CommandId command_id;
    std::string kind;
    JobId job_id;
    std::string result;
    std::optional<std::string> code;
    std::optional<std::string> detail;  // JSON
};

class JobSide {
public:
    virtual ~JobSide() = default;

    // Usage of the reported jobs is accepted and their leases are granted, in this transaction.
    virtual std::vector<Lease> heartbeat(const db::Context& context, Machine& machine,
                                         const std::vector<ReportedJob>& jobs) = 0;
    // The leases that stand, granting none.
    virtual std::vector<Lease> leases(const db::Context& context, const Machine& machine) = 0;
    // Throws NOT_FOUND for a job that is not this machine's.
    virtual JobEventOutcome event(const db::Context& context, Machine& machine,
                                  const JobEvent& event) = 0;
    virtual void acknowledge(const db::Context& context, Machine& machine,
                             const CommandAck& ack) = 0;
};

}  // namespace berth::machines
