// What a machine is told of itself, by a request that it signs: no key of an account has to be kept
// on a host to see what it earns and what it lacks.
#pragma once

#include "agent_protocol/standing.hpp"
#include "api/router.hpp"

namespace berth::hosts {

agent_protocol::MachineStanding show_standing(api::Call& call, MachineId id);
// Lets a rental that runs go on and takes no other, as its owner can from elsewhere.
agent_protocol::MachineStanding drain_own(api::Call& call, MachineId id);

void add_standing_routes(api::Router& router);

}  // namespace berth::hosts
