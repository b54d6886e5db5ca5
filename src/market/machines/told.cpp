#include "machines/told.hpp"

#include <algorithm>

namespace berth::machines {
namespace {

using enum MachineState;

constexpr std::size_t codes_max = 20;
constexpr std::size_t code_bytes_max = 64;

struct SilentLine {
    MachineState from;
    MachineEvent event;
};
// Nothing of it is seen outside, or another event tells of it.
constexpr SilentLine silent_lines_of_machines[] = {
    {UNQUALIFIED, MachineEvent::manifest_changed},
    {UNLISTED, MachineEvent::test_passed},
    {ALLOCATED, MachineEvent::manifest_changed},
    {DRAINING, MachineEvent::manifest_changed},
    {CLEANING, MachineEvent::stray},
    {CLEANING, MachineEvent::manifest_changed},
    {QUARANTINED, MachineEvent::job_over},
    {QUARANTINED, MachineEvent::cleaned},
    {QUARANTINED, MachineEvent::stray},
    {QUARANTINED, MachineEvent::manifest_changed},
    {QUARANTINED, MachineEvent::release},
};

const MachineKind& kind_of_state(MachineState state) {
    switch (state) {
        case UNQUALIFIED: return machine_unqualified;
        case AVAILABLE: return machine_available;
        case ALLOCATED: return machine_allocated;
        case CLEANING: return machine_cleaning;
        case DRAINING: return machine_draining;
        case UNLISTED: return machine_unlisted;
        case QUARANTINED: break;
    }
    return machine_quarantined;
}

const events::Kind<OfferStateFacts>& kind_of_offer(OfferState state) {
    switch (state) {
        case OfferState::listed: return offer_listed;
        case OfferState::unlisted: return offer_unlisted;
        case OfferState::draining: break;
    }
    return offer_draining;
}

MachineStateFacts state_facts(const Machine& machine) {
    MachineStateFacts facts;
    facts.state = machine.state;
    facts.label = machine.label;
    facts.version = {machine.version};
    if (machine.state == QUARANTINED) facts.cause = machine.quarantined_by;
    return facts;
}

void tell_offer(const db::Context& context, const Machine& machine, const Before& before) {
    if (!machine.offer_state || !before.offer_state || machine.offer_state == before.offer_state)
        return;
    events::tell(context, kind_of_offer(*machine.offer_state), machine.owner, machine.offer_id,
                 OfferStateFacts{machine.machine_id,
                                 *machine.offer_state,
                                 *before.offer_state,
                                 {machine.offer_version}});
}

}  // namespace

std::vector<events::DeclaredKind> event_kinds() {
    return {machine_enrolled,    machine_unqualified, machine_available,        machine_allocated,
            machine_cleaning,    machine_draining,    machine_unlisted,         machine_quarantined,
            machine_retired,     offer_listed,        offer_unlisted,           offer_draining,
            machine_test_passed, machine_test_failed, machine_listing_rejected, machine_health,
            machine_silent,      machine_heard,       operations_quarantine};
}

std::vector<std::string> codes_of(const std::vector<Finding>& findings) {
    std::vector<std::string> codes;
    for (const Finding& finding : findings)
        if (codes.size() < codes_max) codes.push_back(finding.code.substr(0, code_bytes_max));
    return codes;
}

bool tells(const Transition& line) {
    return line.to != line.from || line.offer.has_value() || line.event == MachineEvent::quarantine;
}

bool is_silent(const Transition& line) {
    return std::any_of(
        std::begin(silent_lines_of_machines), std::end(silent_lines_of_machines),
        [&](const SilentLine& each) { return each.from == line.from && each.event == line.event; });
}

void tell_change(const db::Context& context, const Machine& machine, const Before& before,
                 MachineEvent event) {
    tell_offer(context, machine, before);
    MachineStateFacts facts = state_facts(machine);
    facts.previous_state = before.state;
    const bool is_put_aside = event == MachineEvent::quarantine;
    if (machine.retired_at)
        events::tell(context, machine_retired, machine.owner, machine.machine_id, facts);
    else if (machine.state != before.state || is_put_aside)
        events::tell(context, kind_of_state(machine.state), machine.owner, machine.machine_id,
                     facts);
    if (is_put_aside)
        events::tell_operators(
            context, operations_quarantine, machine.machine_id,
            QuarantineFacts{machine.owner, machine.quarantined_by, machine.quarantine_held});
}

void tell_enrolled(const db::Context& context, const Machine& machine) {
    events::tell(context, machine_enrolled, machine.owner, machine.machine_id,
                 state_facts(machine));
}

}  // namespace berth::machines
