// What may happen to a machine and to its offer: two tables, and one function that carries out what
// they say. A pair of state and event that is not in its table is refused. The pictures in the
// README are made from these tables.
#pragma once

#include <array>
#include <span>

#include "machines/machine.hpp"

namespace berth::machines {

// How long a job that the books do not know may take to be cleaned.
inline constexpr Duration stray_cleaned_within = std::chrono::seconds(900);

// States that mean something together. The code asks is_one_of(), and SQL has them by
// db::name_list(), so that the two cannot say different things.
inline constexpr std::array testable_states{MachineState::UNQUALIFIED, MachineState::UNLISTED};
// The states of a machine whose listed offer is shown in the catalog.
inline constexpr std::array showable_states{MachineState::AVAILABLE, MachineState::UNQUALIFIED};
// The states of a machine that was admitted and is for rent, now or after its present job.
inline constexpr std::array rentable_states{MachineState::AVAILABLE, MachineState::ALLOCATED,
                                            MachineState::CLEANING};
// The states of an offer that ends when available_until has passed.
inline constexpr std::array offered_states{OfferState::listed, OfferState::draining};

enum class MachineEvent {
    test_passed,
    list,  // the owner asks for it, or the worker admits what the owner asked for
    unlist,
    drain,
    expire,  // available_until passed
    reserve,
    job_over,  // STOPPED or FAILED
    cleaned,   // CLEANED was attested
    stray,     // the agent holds a job that the books do not know, and nothing else
    manifest_changed,
    quarantine,
    release,  // by an operator
    retire,   // by the owner
    leave,    // by the agent
};
BOOST_DESCRIBE_ENUM(MachineEvent, test_passed, list, unlist, drain, expire, reserve, job_over,
                    cleaned, stray, manifest_changed, quarantine, release, retire, leave)

enum class OfferEvent {
    publish,  // the first version, or another
    list,
    unlist,
    drain,
    expire,
    rest,  // a drained machine is idle again
};
BOOST_DESCRIBE_ENUM(OfferEvent, publish, list, unlist, drain, expire, rest)

// Arguments of an event; each says which events it belongs to.
struct Details {
    bool admitted = false;                      // list, test_passed: listing_blockers found nothing
    std::optional<JobId> job_id = {};           // reserve, stray
    std::optional<QuarantineCause> cause = {};  // quarantine
    bool is_nobodys_fault = false;           // a quarantine that is not counted against the machine
    std::optional<std::string> reason = {};  // quarantine by an operator
};

// A condition under which a row of a table holds.
struct Guard {
    std::string_view name;  // in words, for the picture
    bool (*holds)(const Machine& machine, const Details& details);
};

// What changes on the row beside the state.
struct Effect {
    std::string_view name;
    void (*change)(const db::Context& context, Machine& machine, const Details& details);
};

// Rows of one pair are tried in order; the first whose guard holds counts.
struct Transition {
    MachineState from;
    MachineEvent event;
    const Guard* guard;                    // null: always
    std::optional<MachineState> to;        // none: the machine is gone
    const Effect* effect;                  // null: none
    std::optional<OfferEvent> offer = {};  // what it means to the offer, if there is one
};
std::span<const Transition> machine_table();

struct OfferTransition {
    std::optional<OfferState> from;  // none: nothing was ever published
    OfferEvent event;
    const Guard* guard;
    OfferState to;
};
std::span<const OfferTransition> offer_table();

// The row that counts; null where the event is refused.
const Transition* find_transition(const Machine& machine, MachineEvent event,
                                  const Details& details);
const OfferTransition* find_transition(const Machine& machine, OfferEvent event);
// Whether any event leads from one to the other.
bool may_become(std::optional<OfferState> from, OfferState to);

// Carries out what the tables say and saves the machine, with whatever else was changed on it. A
// refused event is CONFLICT. A machine that is gone has retired_at.
void apply(const db::Context& context, Machine& machine, MachineEvent event,
           const Details& details = {});

// The tables as state diagrams of Mermaid.
std::string picture_of_machines();
std::string picture_of_offers();

}  // namespace berth::machines
