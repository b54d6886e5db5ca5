#include "machines/machine.hpp"

#include "base/check.hpp"
#include "base/problem.hpp"
#include "machines/states.hpp"

namespace berth::machines {

Machine hold_own(db::Transaction& tx, MachineId id, AccountId owner) {
    // Looked at first, so that a stranger makes nobody wait.
    if (auto seen = find(tx, id); seen && seen->owner == owner)
        if (auto machine = hold(tx, id)) return *std::move(machine);
    throw Problem(Code::not_found, "there is no such machine");
}

void set_offer(const db::Context& context, Machine& machine, const OfferChange& change) {
    require(change.offer_version >= machine.offer_version, "the version of an offer never falls");
    require(change.offer_state && may_become(machine.offer_state, *change.offer_state),
            "an offer moves as its table says");
    machine.offer_version = change.offer_version;
    machine.offer_state = change.offer_state;
    machine.listed_at = change.listed_at;
    machine.available_until = change.available_until;
    machine.availability_class = change.availability_class;
    save(context, machine);
}

}  // namespace berth::machines
