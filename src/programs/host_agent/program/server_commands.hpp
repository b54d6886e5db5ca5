// What the agent does by the server's commands. They come with the answers to heartbeats and to the
// thread that waits for them: one at a time is carried out, and the same one once.
#pragma once

#include <deque>
#include <mutex>

#include "agent_protocol/commands.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/policy.hpp"
#include "host_agent/program/agent_keys.hpp"
#include "host_agent/program/job_table.hpp"
#include "host_agent/qualification/qualification.hpp"

namespace berth::host_agent {

class ServerCommands {
public:
    struct Parts {
        Link& link;
        SharedCounters& counters;
        AgentKeys& keys;
        JobTable& jobs;
        JobContext& job_context;  // of the jobs that are started
        Qualification& qualification;
        const OwnersPolicy& policy;
    };
    explicit ServerCommands(const Parts& parts) : parts_(parts) {}

    // False when some acknowledgement did not get through: what it was for comes again.
    bool carry_out(const agent_protocol::AgentOrders& orders);

private:
    bool take_command(const std::string& text);
    bool answer(agent_protocol::CommandId id, const agent_protocol::CheckedCommand& checked);
    std::optional<Code> refusal(const agent_protocol::Command& command);
    void forget_refused(const std::optional<agent_protocol::Command>& command);
    bool carry_out(const agent_protocol::Command& command);
    bool start_job(const agent_protocol::Command& command);
    bool stop_job(const agent_protocol::Command& command);
    bool clean_job(const agent_protocol::Command& command);
    bool take_budget(const agent_protocol::Command& command);
    bool rotate_key(const agent_protocol::Command& command);
    bool pin_key(const agent_protocol::Command& command);
    bool qualify(const agent_protocol::Command& command);
    struct Answer {
        agent_protocol::AckResult result = agent_protocol::AckResult::accepted;
        std::string code{};
        std::string detail{};
    };
    bool acknowledge(agent_protocol::CommandId id, const Answer& answer);
    enum class By { host, policy };
    // The sentence is presentable.
    bool refuse(agent_protocol::CommandId id, const std::string& code, const std::string& sentence,
                By by = By::host);

    // Why the owner does not want the job; empty when the record has what the policy asks for.
    std::optional<std::string> follow_policy(const agent_protocol::StartPayload& order,
                                             JobRecord& record) const;
    // How the world comes to the job: as the server says, unless the owner does. Why it cannot be,
    // where it cannot.
    std::optional<std::string> choose_reach(const agent_protocol::StartPayload& order,
                                            JobRecord& record) const;
    // Why the job cannot be taken on; empty when it was given its ports.
    std::optional<std::string> give_ports(const agent_protocol::StartPayload& order,
                                          JobRecord& record);

    const Parts parts_;
    std::mutex turn_;  // commands come to two threads: one at a time
    static constexpr std::size_t answered_max = 64;
    std::deque<agent_protocol::CommandId> answered_;
};

}  // namespace berth::host_agent
