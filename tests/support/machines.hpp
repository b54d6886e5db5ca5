// Machines made directly as rows, for tests of what comes after enrollment.
#pragma once

#include "machines/states.hpp"
#include "support/harness.hpp"

namespace berth::test {

// What the row of a machine begins with; all of it can be set. By default a machine with one RTX
// 4090 that has just enrolled.
struct NewMachine {
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    machines::Tier tier = machines::Tier::container;
    machines::RuntimeKind runtime_kind = machines::RuntimeKind::container;
    std::optional<std::string> gpu_model = "NVIDIA GeForce RTX 4090";
    std::optional<std::string> gpu_model_key = "rtx-4090";
    std::optional<std::int64_t> gpu_count = 1;
    std::vector<std::string> gpu_uuids = {};  // empty: one of its own
    std::optional<machines::Continent> continent = {};
    // What a test measured; anything in it means that a test was passed. So does a state beyond
    // UNQUALIFIED.
    std::optional<machines::Measured> measured = {};
    std::optional<machines::OfferState> offer = {};  // of a first version; none: nothing published
    std::optional<Time> available_until = {};        // a day from now when there is an offer
    std::optional<machines::HostMode> mode = machines::HostMode::dedicated;
    std::optional<bool> offerable = true;
    bool heard = true;  // a heartbeat has just come
    std::string public_key = "";
    std::function<void(machines::Machine&)> adjust = {};  // anything else, just before it is stored
};

// What a good test of an RTX 4090 measures.
machines::Measured measured_4090();

machines::Machine enrolled(Harness& harness, AccountId owner, const NewMachine& wanted = {});
// As it stands now; fails the test when it is retired.
machines::Machine seen(Harness& harness, MachineId id);
// A heartbeat at the time of the harness's clock.
void hear(Harness& harness, MachineId id);
// One event in a transaction of its own.
machines::Machine happen(Harness& harness, MachineId id, machines::MachineEvent event,
                         const machines::Details& details = {});

}  // namespace berth::test
