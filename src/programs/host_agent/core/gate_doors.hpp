// The doors of a gate, by which a host is reached that has no open port. Who knocks at one is led
// to a port of loopback that was named here for it, and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent_protocol/gate.hpp"

namespace berth::host_agent {

// A job, or a run of the machine test.
using DoorOwner = std::variant<JobId, agent_protocol::RunId>;

struct LocalDoor {
    std::string name;
    agent_protocol::DoorKind kind = agent_protocol::DoorKind::http;
    std::int64_t local_port = 0;  // on 127.0.0.1

    friend bool operator==(const LocalDoor&, const LocalDoor&) = default;
};

// Where the world finds something of this host.
struct DoorPlace {
    std::string host;
    std::int64_t port = 0;

    friend bool operator==(const DoorPlace&, const DoorPlace&) = default;
};

// Safe to call from any thread; nothing here waits for the server or a gate.
class GateDoors {
public:
    virtual ~GateDoors() = default;

    // From now on, in place of what the owner wanted before.
    virtual void want(const DoorOwner& owner, const std::vector<LocalDoor>& doors) = 0;
    // Who came by them is cut off at once. Harmless for one that has none.
    virtual void give_back(const DoorOwner& owner) = 0;
    // Where the owner's doors are, in the order in which they were wanted; empty while it has none
    // or nobody would get through.
    virtual std::optional<std::vector<DoorPlace>> places(const DoorOwner& owner) const = 0;
    // Why there is nothing to be had at the moment, in a sentence; empty when all is well.
    virtual std::string trouble() const = 0;
};

}  // namespace berth::host_agent
