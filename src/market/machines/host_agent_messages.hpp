// Messages of host agents other than heartbeats: acknowledgements, manifests, events, leaving.
#pragma once

#include "api/call.hpp"
#include "machines/host_agent_types.hpp"
#include "machines/job_side.hpp"

namespace berth::machines {

class HostAgentMessages {
public:
    HostAgentMessages(const Commands& commands, JobSide& jobs) : commands_(commands), jobs_(jobs) {}

    agent_protocol::Orders wait(api::Call& call, const WaitForCommands& request,
                                db::Database& database) const;
    AckTaken acknowledge(api::Call& call, CommandId id, const agent_protocol::Ack& ack) const;
    agent_protocol::ManifestTaken take_manifest(api::Call& call,
                                                const agent_protocol::NewManifest& request) const;
    // An event of a job is taken in two steps. The first says what has to be asked of the outside
    // (whether an endpoint answers); the second takes the event with those answers.
    std::function<EventFacts()> prepare_event(api::Call& call, JobId job,
                                              const agent_protocol::JobEvent& event,
                                              db::Database& database) const;
    agent_protocol::JobEventTaken take_event(api::Call& call, JobId job,
                                             const agent_protocol::JobEvent& event,
                                             const EventFacts& facts) const;
    HealthEventTaken take_health(api::Call& call, const agent_protocol::HealthEvent& event) const;
    void leave(api::Call& call) const;

    // The owner or an operator wants the machine to have another key.
    KeyRotation rotate_key(api::Call& call, MachineId id) const;

private:
    void change_key(const db::Context& context, Machine& machine, const CommandRow& command,
                    const agent_protocol::Ack& ack) const;

    const Commands& commands_;
    JobSide& jobs_;
};

// Throws CONFLICT unless a test of the machine is in progress.
void require_test(db::Transaction& tx, MachineId id);

}  // namespace berth::machines
