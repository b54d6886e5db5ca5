#include "machines/states.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "machines/store.hpp"
#include "machines/told.hpp"

namespace berth::machines {
namespace {

using enum MachineState;

// A machine that was put aside this often in this time comes back only by an operator's word.
constexpr std::int64_t quarantines_max = 3;
constexpr Duration quarantines_window = std::chrono::hours(24 * 30);

// Guards

const Guard admitted{"nothing blocks it",
                     [](const Machine&, const Details& details) { return details.admitted; }};
const Guard wanted{"listed, nothing blocks it", [](const Machine& machine, const Details& details) {
                       return machine.offer_state == OfferState::listed && details.admitted;
                   }};
const Guard is_listed{"listed", [](const Machine& machine, const Details&) {
                          return machine.offer_state == OfferState::listed;
                      }};
const Guard manifest_waits{
    "the manifest changed meanwhile",
    [](const Machine& machine, const Details&) { return machine.manifest_pending; }};
const Guard untested{"its test was not passed", [](const Machine& machine, const Details&) {
                         return machine.qualify_state != QualifyState::passed;
                     }};
const Guard not_held{"no operator is needed", [](const Machine& machine, const Details&) {
                         return !machine.quarantine_held;
                     }};
const Guard clean{"its last job was cleaned",
                  [](const Machine& machine, const Details&) { return !machine.job_id; }};
const Guard busy{
    "a job holds the machine or is being cleaned", [](const Machine& machine, const Details&) {
        return machine.state == ALLOCATED || machine.state == DRAINING || machine.state == CLEANING;
    }};

// Effects

void want_test(Machine& machine, Time now) {
    machine.qualify_state = QualifyState::waiting;
    machine.qualify_reason.reset();
    machine.qualify_failures = 0;
    machine.qualify_next_at = now;
    machine.qualify_run_id.reset();
}

const Effect allocate{"fence + 1",
                      [](const db::Context&, Machine& machine, const Details& details) {
                          require(details.job_id.has_value(), "a reservation names its job");
                          ++machine.fence;
                          machine.job_id = details.job_id;
                      }};
const Effect count_anew{"its figures are counted anew",
                        [](const db::Context& context, Machine& machine, const Details&) {
                            machine.figures_due_at = context.now;
                        }};
// The manifest is another one: what was measured and verified before does not hold for it.
const Effect distrust{"test it anew",
                      [](const db::Context& context, Machine& machine, const Details&) {
                          machine.manifest_pending = false;
                          machine.verification_level = VerificationLevel::unverified;
                          machine.wipe_available.reset();
                          want_test(machine, context.now);
                          save_measured(context.tx, machine.machine_id, {});
                      }};
const Effect note_manifest{
    "test it when it is clean",
    [](const db::Context&, Machine& machine, const Details&) { machine.manifest_pending = true; }};
const Effect end_cleaning{"the job is forgotten",
                          [](const db::Context&, Machine& machine, const Details&) {
                              machine.job_id.reset();
                              machine.clean_deadline.reset();
                          }};
// A stray job is cleaned like one of ours. A test that ran beside it does not
// count.
const Effect keep_stray{"the job is cleaned first",
                        [](const db::Context& context, Machine& machine, const Details& details) {
                            require(details.job_id.has_value(), "a stray job has a name");
                            machine.job_id = details.job_id;
                            if (machine.state == CLEANING)
                                machine.clean_deadline = context.now + stray_cleaned_within;
                            machine.qualify_next_at.reset();
                            machine.qualify_run_id.reset();
                        }};
const Effect clean_and_test{
    "the job is forgotten; test it anew",
    [](const db::Context& context, Machine& machine, const Details& details) {
        end_cleaning.change(context, machine, details);
        want_test(machine, context.now);
    }};
const Effect clean_and_distrust{
    "the job is forgotten; test it anew",
    [](const db::Context& context, Machine& machine, const Details& details) {
        end_cleaning.change(context, machine, details);
        distrust.change(context, machine, details);
    }};
const Effect isolate{
    "fence + 1", [](const db::Context& context, Machine& machine, const Details& details) {
        require(details.cause.has_value(), "a quarantine has a cause");
        add_machine_event(
            context.tx,
            {.event_id = MachineEventId::make(context.now, context.random),
             .machine_id = machine.machine_id,
             .kind = std::string(details.is_nobodys_fault ? put_aside_kind : quarantined_kind),
             .at = context.now,
             .detail = details.reason.value_or(std::string(enum_name(*details.cause)))});
        const std::int64_t count = count_machine_events(
            context.tx, machine.machine_id, quarantined_kind, context.now - quarantines_window);
        ++machine.fence;
        machine.quarantined_by = details.cause;
        machine.quarantine_held = machine.quarantine_held ||
                                  details.cause == QuarantineCause::operator_ ||
                                  count >= quarantines_max;
        machine.figures_due_at = context.now;
        machine.clean_deadline.reset();
        machine.qualify_state = QualifyState::waiting;
        machine.qualify_reason.reset();
        machine.qualify_next_at.reset();
        machine.qualify_run_id.reset();
    }};
const Effect come_back{"test it anew",
                       [](const db::Context& context, Machine& machine, const Details&) {
                           machine.job_id.reset();
                           machine.quarantined_by.reset();
                           machine.quarantine_held = false;
                           machine.starts_failed = 0;
                           want_test(machine, context.now);
                       }};
const Effect lift{
    "it comes back when its last job was cleaned",
    [](const db::Context&, Machine& machine, const Details&) { machine.quarantine_held = false; }};
const Effect end{"history is kept",
                 [](const db::Context& context, Machine& machine, const Details&) {
                     ++machine.fence;
                     machine.retired_at = context.now;
                     machine.qualify_next_at.reset();
                     machine.qualify_run_id.reset();
                 }};

// Tables

constexpr auto gone = std::optional<MachineState>();
using Offer = OfferEvent;

const Transition machine_transitions[] = {
    {UNQUALIFIED, MachineEvent::test_passed, &wanted, AVAILABLE, nullptr},
    {UNQUALIFIED, MachineEvent::test_passed, nullptr, UNLISTED, nullptr},
    {UNQUALIFIED, MachineEvent::list, nullptr, UNQUALIFIED, nullptr, Offer::list},
    {UNQUALIFIED, MachineEvent::unlist, nullptr, UNQUALIFIED, nullptr, Offer::unlist},
    {UNQUALIFIED, MachineEvent::drain, nullptr, UNQUALIFIED, nullptr, Offer::drain},
    {UNQUALIFIED, MachineEvent::expire, nullptr, UNQUALIFIED, nullptr, Offer::expire},
    {UNQUALIFIED, MachineEvent::manifest_changed, nullptr, UNQUALIFIED, &distrust},
    {UNQUALIFIED, MachineEvent::stray, nullptr, CLEANING, &keep_stray},
    {UNQUALIFIED, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},
    {UNQUALIFIED, MachineEvent::retire, nullptr, gone, &end, Offer::expire},
    {UNQUALIFIED, MachineEvent::leave, nullptr, gone, &end, Offer::expire},

    {UNLISTED, MachineEvent::test_passed, &wanted, AVAILABLE, nullptr},
    {UNLISTED, MachineEvent::test_passed, nullptr, UNLISTED, nullptr},
    {UNLISTED, MachineEvent::list, &admitted, AVAILABLE, nullptr, Offer::list},
    {UNLISTED, MachineEvent::list, nullptr, UNLISTED, nullptr, Offer::list},
    {UNLISTED, MachineEvent::unlist, nullptr, UNLISTED, nullptr, Offer::unlist},
    {UNLISTED, MachineEvent::drain, nullptr, UNLISTED, nullptr, Offer::drain},
    {UNLISTED, MachineEvent::expire, nullptr, UNLISTED, nullptr, Offer::expire},
    {UNLISTED, MachineEvent::manifest_changed, nullptr, UNQUALIFIED, &distrust},
    {UNLISTED, MachineEvent::stray, nullptr, CLEANING, &keep_stray},
    {UNLISTED, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},
    {UNLISTED, MachineEvent::retire, nullptr, gone, &end, Offer::expire},
    {UNLISTED, MachineEvent::leave, nullptr, gone, &end, Offer::expire},

    {AVAILABLE, MachineEvent::list, nullptr, AVAILABLE, nullptr, Offer::list},
    {AVAILABLE, MachineEvent::unlist, nullptr, UNLISTED, nullptr, Offer::unlist},
    {AVAILABLE, MachineEvent::drain, nullptr, UNLISTED, nullptr, Offer::drain},
    {AVAILABLE, MachineEvent::expire, nullptr, UNLISTED, nullptr, Offer::expire},
    {AVAILABLE, MachineEvent::reserve, nullptr, ALLOCATED, &allocate},
    {AVAILABLE, MachineEvent::manifest_changed, nullptr, UNQUALIFIED, &distrust},
    {AVAILABLE, MachineEvent::stray, nullptr, CLEANING, &keep_stray},
    {AVAILABLE, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},
    {AVAILABLE, MachineEvent::leave, nullptr, gone, &end, Offer::expire},

    {ALLOCATED, MachineEvent::list, nullptr, ALLOCATED, nullptr, Offer::list},
    {ALLOCATED, MachineEvent::unlist, nullptr, ALLOCATED, nullptr, Offer::unlist},
    {ALLOCATED, MachineEvent::drain, nullptr, DRAINING, nullptr, Offer::drain},
    {ALLOCATED, MachineEvent::expire, nullptr, ALLOCATED, nullptr, Offer::expire},
    {ALLOCATED, MachineEvent::job_over, nullptr, CLEANING, &count_anew},
    {ALLOCATED, MachineEvent::manifest_changed, nullptr, ALLOCATED, &note_manifest},
    {ALLOCATED, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},

    {DRAINING, MachineEvent::list, nullptr, ALLOCATED, nullptr, Offer::list},
    {DRAINING, MachineEvent::unlist, nullptr, DRAINING, nullptr, Offer::unlist},
    {DRAINING, MachineEvent::drain, nullptr, DRAINING, nullptr, Offer::drain},
    {DRAINING, MachineEvent::expire, nullptr, DRAINING, nullptr, Offer::expire},
    {DRAINING, MachineEvent::job_over, nullptr, CLEANING, &count_anew},
    {DRAINING, MachineEvent::manifest_changed, nullptr, DRAINING, &note_manifest},
    {DRAINING, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},

    {CLEANING, MachineEvent::list, nullptr, CLEANING, nullptr, Offer::list},
    {CLEANING, MachineEvent::unlist, nullptr, CLEANING, nullptr, Offer::unlist},
    {CLEANING, MachineEvent::drain, nullptr, CLEANING, nullptr, Offer::drain},
    {CLEANING, MachineEvent::expire, nullptr, CLEANING, nullptr, Offer::expire},
    {CLEANING, MachineEvent::cleaned, &manifest_waits, UNQUALIFIED, &clean_and_distrust,
     Offer::rest},
    {CLEANING, MachineEvent::cleaned, &untested, UNQUALIFIED, &clean_and_test, Offer::rest},
    {CLEANING, MachineEvent::cleaned, &is_listed, AVAILABLE, &end_cleaning},
    {CLEANING, MachineEvent::cleaned, nullptr, UNLISTED, &end_cleaning, Offer::rest},
    {CLEANING, MachineEvent::stray, nullptr, CLEANING, &keep_stray},
    {CLEANING, MachineEvent::manifest_changed, nullptr, CLEANING, &note_manifest},
    {CLEANING, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},

    {QUARANTINED, MachineEvent::unlist, nullptr, QUARANTINED, nullptr, Offer::unlist},
    {QUARANTINED, MachineEvent::drain, nullptr, QUARANTINED, nullptr, Offer::drain},
    {QUARANTINED, MachineEvent::expire, nullptr, QUARANTINED, nullptr, Offer::expire},
    {QUARANTINED, MachineEvent::job_over, nullptr, QUARANTINED, &count_anew},
    {QUARANTINED, MachineEvent::cleaned, &not_held, UNQUALIFIED, &come_back},
    {QUARANTINED, MachineEvent::cleaned, nullptr, QUARANTINED, &end_cleaning},
    {QUARANTINED, MachineEvent::stray, nullptr, QUARANTINED, &keep_stray},
    {QUARANTINED, MachineEvent::manifest_changed, nullptr, QUARANTINED, &distrust},
    {QUARANTINED, MachineEvent::quarantine, nullptr, QUARANTINED, &isolate},
    {QUARANTINED, MachineEvent::release, &clean, UNQUALIFIED, &come_back},
    {QUARANTINED, MachineEvent::release, nullptr, QUARANTINED, &lift},
    {QUARANTINED, MachineEvent::retire, nullptr, gone, &end, Offer::expire},
    {QUARANTINED, MachineEvent::leave, nullptr, gone, &end, Offer::expire},
};

constexpr auto none = std::optional<OfferState>();
using enum OfferState;

const OfferTransition offer_transitions[] = {
    {none, OfferEvent::publish, nullptr, unlisted},
    {listed, OfferEvent::publish, nullptr, listed},
    {unlisted, OfferEvent::publish, nullptr, unlisted},
    {draining, OfferEvent::publish, nullptr, draining},

    {listed, OfferEvent::list, nullptr, listed},
    {unlisted, OfferEvent::list, nullptr, listed},
    {draining, OfferEvent::list, nullptr, listed},

    {listed, OfferEvent::unlist, nullptr, unlisted},
    {unlisted, OfferEvent::unlist, nullptr, unlisted},
    {draining, OfferEvent::unlist, nullptr, unlisted},

    {listed, OfferEvent::drain, &busy, draining},
    {listed, OfferEvent::drain, nullptr, unlisted},
    {unlisted, OfferEvent::drain, &busy, draining},
    {unlisted, OfferEvent::drain, nullptr, unlisted},
    {draining, OfferEvent::drain, &busy, draining},
    {draining, OfferEvent::drain, nullptr, unlisted},

    {listed, OfferEvent::expire, nullptr, unlisted},
    {unlisted, OfferEvent::expire, nullptr, unlisted},
    {draining, OfferEvent::expire, nullptr, unlisted},

    {listed, OfferEvent::rest, nullptr, listed},
    {unlisted, OfferEvent::rest, nullptr, unlisted},
    {draining, OfferEvent::rest, nullptr, unlisted},
};

[[noreturn]] void refuse(const Machine& machine, std::string_view event) {
    throw Problem(Code::conflict, fmt::format("{} is not possible while the machine is {}", event,
                                              enum_name(machine.state)));
}

// An offer that was never published has no state, and machines come and go without one.
void move_offer(const db::Context& context, Machine& machine, OfferEvent event) {
    if (!machine.offer_state) {
        if (event == OfferEvent::expire || event == OfferEvent::rest) return;
        throw Problem(Code::conflict, "no offer was published for this machine");
    }
    const OfferTransition* row = find_transition(machine, event);
    require(row != nullptr, "every event of a published offer is in its table");
    if (row->to == OfferState::listed && machine.offer_state != OfferState::listed)
        machine.listed_at = context.now;
    machine.offer_state = row->to;
}

template <class Row>
std::string label_of(const Row& row) {
    std::string label(enum_name(row.event));
    if (row.guard != nullptr) label += fmt::format(" [{}]", row.guard->name);
    return label;
}

}  // namespace

std::span<const Transition> machine_table() { return machine_transitions; }
std::span<const OfferTransition> offer_table() { return offer_transitions; }

const Transition* find_transition(const Machine& machine, MachineEvent event,
                                  const Details& details) {
    for (const Transition& row : machine_transitions)
        if (row.from == machine.state && row.event == event &&
            (row.guard == nullptr || row.guard->holds(machine, details)))
            return &row;
    return nullptr;
}

const OfferTransition* find_transition(const Machine& machine, OfferEvent event) {
    for (const OfferTransition& row : offer_transitions)
        if (row.from == machine.offer_state && row.event == event &&
            (row.guard == nullptr || row.guard->holds(machine, {})))
            return &row;
    return nullptr;
}

bool may_become(std::optional<OfferState> from, OfferState to) {
    for (const OfferTransition& row : offer_transitions)
        if (row.from == from && row.to == to) return true;
    return false;
}

void apply(const db::Context& context, Machine& machine, MachineEvent event,
           const Details& details) {
    require(!machine.retired_at, "nothing happens to a machine that is gone");
    const Transition* row = find_transition(machine, event, details);
    if (row == nullptr) refuse(machine, enum_name(event));
    const Before before{machine.state, machine.offer_state};
    if (row->offer) move_offer(context, machine, *row->offer);
    if (row->to) machine.state = *row->to;
    if (row->effect != nullptr) row->effect->change(context, machine, details);
    save(context, machine);
    tell_change(context, machine, before, event);
}

std::string picture_of_machines() {
    std::string text = "stateDiagram-v2\n    [*] --> UNQUALIFIED: enroll\n";
    for (const Transition& row : machine_transitions) {
        text += fmt::format("    {} --> {}: {}", enum_name(row.from),
                            row.to ? enum_name(*row.to) : "[*]", label_of(row));
        if (row.effect != nullptr) text += fmt::format(" / {}", row.effect->name);
        text += '\n';
    }
    return text;
}

std::string picture_of_offers() {
    std::string text = "stateDiagram-v2\n";
    for (const OfferTransition& row : offer_transitions)
        text += fmt::format("    {} --> {}: {}\n", row.from ? enum_name(*row.from) : "[*]",
                            enum_name(row.to), label_of(row));
    return text;
}

}  // namespace berth::machines
