// Doors for machines: which gate, which ports, and the ticket that says so. A machine asks for the
// whole list that it wants; asking again renews the ticket.
#pragma once

#include <functional>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/gate.hpp"
#include "api/call.hpp"
#include "gates/store.hpp"
#include "machines/machine.hpp"

namespace berth::gates {

// A port that was given back is nobody's for this long: who knew it as another's door finds it
// closed.
inline constexpr Duration port_rests = std::chrono::minutes(10);
// A gate that was silent for so long is left for another one.
inline constexpr Duration gate_given_up = std::chrono::seconds(60);
// The doors of one machine move at most this often.
inline constexpr Duration moves_apart = std::chrono::minutes(5);
// By all names that a job or test ever used: who gives ports back and asks for others uses up no
// more.
inline constexpr std::int64_t names_max = 32;
inline constexpr std::int64_t names_of_test_max = 2;  // anybody can have machines tested

// Taken back; whoever comes by it is cut off with the gate's next report.
void free_door(const db::Context& context, DoorRow door);

class Allotment {
public:
    Allotment(const agent_protocol::CommandKey& key, FindJob find_job)
        : key_(key), find_job_(std::move(find_job)) {}

    agent_protocol::DoorsGiven give(api::Call& call, const agent_protocol::WantDoors& want) const;

private:
    agent_protocol::DoorsGiven answer(api::Call& call, const machines::Machine& machine,
                                      const GateRow& gate, const std::vector<DoorRow>& doors) const;
    std::int64_t rate_of(const api::Call& call, const DoorRow& door) const;

    const agent_protocol::CommandKey& key_;
    const FindJob find_job_;
};

}  // namespace berth::gates
