// What operators do to a machine: put it aside, let it come back, vouch for it, retire it.
#pragma once

#include "api/preview.hpp"
#include "api/router.hpp"
#include "hosts/action_types.hpp"
#include "rentals/rentals.hpp"

namespace berth::hosts {

class Actions {
public:
    explicit Actions(const rentals::Rentals& rentals) : rentals_(rentals) {}

    void add_routes(api::Router& router) const;

    MachineActionTaken act(api::Call& call, MachineId id, const MachineActionWish& wish) const;
    // The same, in a transaction that is undone; it asks for no step-up.
    api::ActionPreview preview(api::Call& call, MachineId id, const MachineActionWish& wish) const;

private:
    std::string carry_out(api::Call& call, machines::Machine& machine,
                          const MachineActionWish& wish) const;
    void put_aside(api::Call& call, machines::Machine& machine,
                   const MachineActionWish& wish) const;

    const rentals::Rentals& rentals_;
};

}  // namespace berth::hosts
