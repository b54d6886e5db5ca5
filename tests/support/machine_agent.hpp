// A host agent inside a test: it signs what it sends through the harness, as the real one does.
#pragma once

#include "agent_protocol/commands.hpp"
#include "agent_protocol/signature.hpp"
#include "support/harness.hpp"
#include "support/host_agent_double.hpp"

namespace berth::test {

class MachineAgent : public HostAgentDouble {
public:
    // With a key of its own; it is not enrolled yet.
    explicit MachineAgent(Harness& harness, const std::string& gpu_uuid = "GPU-1");

    // An enrollment token of this account, made as its owner would by a session.
    static std::string token_for(Harness& harness, AccountId owner,
                                 const std::string& tier = "container");
    std::string enrollment(const std::string& token) const;  // the body
    http::Response enroll(const std::string& token);

    struct Message {
        std::string method = "POST";
        std::string target;
        std::string body = {};
        std::function<void(http::Headers&)> spoil = {};  // the fields, before they are sent
        std::optional<Time> created = {};
        std::string nonce = {};
    };
    http::Request request(const Message& message);
    http::Response send(const Message& message);

    std::string beat() const;  // the body of a heartbeat
    http::Response heartbeat();
    agent_protocol::Orders orders(const std::string& query = "");  // those that wait
    http::Response acknowledge(agent_protocol::CommandId command, const std::string& result,
                               const std::string& more = "");

    Harness& harness;
    MachineId machine;
    crypto::Secret seed;
    agent_protocol::PinnedKey pinned;
    std::optional<Time> sent_at;
    std::int64_t protocol_version = agent_protocol::protocol_version;
};

}  // namespace berth::test
