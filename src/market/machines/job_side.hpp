// The interface by which machines passes on what agents report of jobs; rentals implements it. An
// agent speaks of its jobs in heartbeats, events and acknowledgements: machines checks who speaks
// and with which fence, and JobSide does the rest.
#pragma once

#include <functional>

#include "machines/machine.hpp"

namespace berth::machines {

// How the agent took a command that belongs to a job.
struct CommandAck {
    CommandId command_id;
    agent_protocol::CommandKind kind = agent_protocol::CommandKind::start;
    JobId job_id;
    agent_protocol::Ack ack;
};

// A request of the agent as it came, by which anybody can check its signature later.
struct SignedMessage {
    Bytes body;
    std::string signature_input;  // the two fields as they were sent
    std::string signature;
    std::string authority;   // what the signature calls @authority
    std::string path;        // and @path
    std::string public_key;  // the machine's, base64
};

// What was found by asking the outside about an event, before the event is taken.
struct EventFacts {
    std::optional<std::string> fault = {};  // why the workload cannot be reached
    // Where each of its endpoints answered, in the order they were announced.
    std::vector<std::string> addresses = {};
    std::optional<std::string> ssh_fingerprint = {};  // of the host key that was seen
};

struct RefusedEvent {
    MachineId machine;
    JobId job;
    agent_protocol::JobEvent event;
    SignedMessage message;
    std::string why;
};

struct JobEventOutcome {
    std::string state;  // of the job, after the event
    std::optional<agent_protocol::Lease> lease;
};

class JobSide {
public:
    virtual ~JobSide() = default;

    // Usage of the reported jobs is accepted and their leases are granted, in this transaction. A
    // machine that holds a job which the books do not know is not for rent until it was cleaned.
    virtual std::vector<agent_protocol::Lease> heartbeat(const db::Context& context,
                                                         Machine& machine,
                                                         const agent_protocol::Heartbeat& beat,
                                                         const SignedMessage& message) = 0;
    // The leases that were granted and still hold; none is granted here.
    virtual std::vector<agent_protocol::Lease> leases(const db::Context& context,
                                                      const Machine& machine) = 0;
    // Says what has to be asked of the outside before the event can be taken: READY is seen, not
    // believed. What it gives is called with no transaction open, and its answer goes into event().
    // It throws nothing for an event that event() would refuse.
    virtual std::function<EventFacts()> prepare(db::Transaction& tx, const Machine& machine,
                                                JobId job,
                                                const agent_protocol::JobEvent& event) = 0;
    // Keeps on record that an event will be refused for what the outside said.
    virtual void note_refused(const db::Context& context, const RefusedEvent& refused) = 0;
    // Throws NOT_FOUND for a job that is not this machine's and that it was not found to hold.
    virtual JobEventOutcome event(const db::Context& context, Machine& machine, JobId job,
                                  const agent_protocol::JobEvent& event, const EventFacts& facts,
                                  const SignedMessage& message) = 0;
    virtual void acknowledge(const db::Context& context, Machine& machine, const CommandAck& ack,
                             const SignedMessage& message) = 0;
    // The first of its GPUs was lost, or the last one is back.
    virtual void gpus_turned(const db::Context& context, Machine& machine) = 0;
    // Agents can be heard now: a process that listens says so all the time.
    virtual void note_listening(db::Database& database, Time now) = 0;
};

}  // namespace berth::machines
