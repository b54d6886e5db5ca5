// What gates say of their doors, every five seconds: which machines have a link, and what went
// through. From it, and from a gate's silence, follows which doors are carried.
#pragma once

#include "agent_protocol/commands.hpp"
#include "agent_protocol/gate.hpp"
#include "api/call.hpp"
#include "gates/store.hpp"

namespace berth::gates {

class Reports {
public:
    // `next` is to take the place of `key`; null: none is.
    Reports(const agent_protocol::CommandKey& key, const agent_protocol::CommandKey* next);

    agent_protocol::GateOrders take(api::Call& call,
                                    const agent_protocol::GateReport& report) const;

private:
    std::vector<agent_protocol::ServerKey> keys_;
};

}  // namespace berth::gates
