// This machine's keys and the server's, as they change while the agent runs. A new one is on disk
// before the other side may know it. Safe to call from any thread.
#pragma once

#include <mutex>

#include "agent_protocol/commands.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/state_folder.hpp"

namespace berth::host_agent {

class AgentKeys {
public:
    AgentKeys(const StateFolder& state, Link& link, Identity identity)
        : state_(state), link_(link), identity_(std::move(identity)) {}

    // Signed by the server's key, or by the one that it said would be next.
    agent_protocol::CheckedCommand check(const std::string& command, Time now);
    // The server's next, from SERVER_KEY. Throws StateLost.
    void pin_next(const std::string& key_id, const std::string& public_key);

    std::string seed() const;
    // For ROTATE_KEY: the key in use, and the one that follows it, made when there is none. Throws
    // StateLost.
    struct Rotation {
        std::string seed;
        std::string next_seed;
    };
    Rotation rotation();
    // The server refused what was signed with `refused`, or has taken the one after it.
    void try_other(const std::string& refused);
    // The server has answered to this key: the one before it is over.
    void drop_old(const std::string& answered);

private:
    void keep();

    const StateFolder& state_;
    Link& link_;
    mutable std::mutex mutex_;
    Identity identity_;
};

}  // namespace berth::host_agent
