#include "hosts/actions.hpp"

#include <algorithm>

#include "audit/audit.hpp"
#include "ledger/ledger.hpp"
#include "machines/commands.hpp"
#include "machines/host_agent_types.hpp"
#include "machines/states.hpp"
#include "rentals/states.hpp"

namespace berth::hosts {
namespace {

using machines::Machine;
using machines::VerificationLevel;

template <class Value>
std::string word(const Value& value) {
    if constexpr (std::is_enum_v<Value>)
        return std::string(enum_name(value));
    else if constexpr (std::is_same_v<Value, bool>)
        return value ? "true" : "false";
    else
        return std::to_string(value);
}

std::vector<audit::Change> changes_between(const Machine& before, const Machine& after) {
    std::vector<audit::Change> changes;
    const auto note = [&](const char* field, const auto& from, const auto& to) {
        if (from != to) changes.push_back({field, word(from), word(to)});
    };
    note("state", before.state, after.state);
    note("fence", before.fence, after.fence);
    note("quarantine_held", before.quarantine_held, after.quarantine_held);
    note("retired", before.retired_at.has_value(), after.retired_at.has_value());
    note("verification_level", before.verification_level, after.verification_level);
    return changes;
}

// What the machine is without an operator's word: its last test holds while its manifest does.
VerificationLevel level_by_test(const Machine& machine) {
    const bool holds =
        machine.tested_manifest_hash == machine.manifest_hash && !machine.manifest_pending;
    return holds ? VerificationLevel::auto_verified : VerificationLevel::unverified;
}

std::string verify(api::Call& call, Machine& machine) {
    if (machine.runtime_kind == machines::RuntimeKind::simulated)
        throw Problem(Code::conflict, "a simulated machine is never verified by an operator");
    machine.verification_level = VerificationLevel::manually_verified;
    machines::save(call.context(), machine);
    return "The machine is shown as verified by an operator until its manifest changes.";
}

std::string unverify(api::Call& call, Machine& machine) {
    if (machine.verification_level == VerificationLevel::manually_verified)
        machine.verification_level = level_by_test(machine);
    machines::save(call.context(), machine);
    return "No operator vouches for the machine any more; what its last test showed still counts.";
}

std::string release(api::Call& call, Machine& machine) {
    machines::apply(call.context(), machine, machines::MachineEvent::release);
    return machine.state == machines::MachineState::QUARANTINED
               ? "The machine comes back when its last job was cleaned, which no release waives."
               : "The machine is tested anew while its agent is heard, and then comes back.";
}

Machine require_machine(api::Call& call, MachineId id) {
    auto machine = machines::hold(call.tx(), id);
    if (!machine) throw Problem(Code::not_found, "there is no such machine");
    return std::move(*machine);
}

void require_version(const Machine& machine, const MachineActionWish& wish) {
    if (wish.expected_version.value != std::to_string(machine.version))
        throw Problem(Code::stale_version, "the machine was changed meanwhile; look at it again");
}

constexpr std::int64_t commands_counted_max = 1000;
constexpr std::string_view waiting_commands_sql =
    "SELECT command_id FROM machine_commands WHERE machine_id = $1 AND state = 'queued' "
    "ORDER BY command_id LIMIT $2";
constexpr std::string_view job_state_sql = "SELECT state FROM jobs WHERE job_id = $1";

// What a command may end of a machine.
struct OnMachine {
    Machine machine;
    std::vector<std::string> commands;          // that wait for its agent
    std::optional<rentals::JobState> job = {};  // of the rental that the machine had before
    Micro held = {};                            // for that rental
};
OnMachine look_at_machine(db::Transaction& tx, const Machine& machine,
                          const std::optional<JobId>& job) {
    OnMachine on{.machine = machine, .commands = {}};
    for (const Uuid& id :
         tx.fetch_values<Uuid>(waiting_commands_sql, machine.machine_id, commands_counted_max))
        on.commands.push_back(to_string(id));
    if (!job) return on;
    on.job = tx.fetch_value<rentals::JobState>(job_state_sql, *job);
    if (const auto known = ledger::find_job(tx, *job); known && !known->closed)
        on.held = known->budget - known->charged;
    return on;
}

bool is_for_rent(const Machine& machine) {
    return machine.state == machines::MachineState::AVAILABLE && !machine.retired_at &&
           machine.offer_state == machines::OfferState::listed;
}

bool runs(const std::optional<rentals::JobState>& state) {
    return state && (rentals::is_before_ready(*state) || rentals::is_metered(*state));
}

void add_machine_effects(api::ActionPreview& preview, const OnMachine& before,
                         const OnMachine& after) {
    if (runs(before.job) && !runs(after.job))
        api::add_effect(preview, "rentals_stopped", {to_string(*before.machine.job_id)},
                        before.held);
    if (is_for_rent(before.machine) && !is_for_rent(after.machine))
        api::add_effect(preview, "machines_hidden", {to_string(before.machine.machine_id)});
    std::vector<std::string> taken_back = before.commands;
    std::erase_if(taken_back, [&](const std::string& id) {
        return std::ranges::find(after.commands, id) != after.commands.end();
    });
    api::add_effect(preview, "commands_taken_back", std::move(taken_back));
}

}  // namespace

// The machine is put aside before its job is stopped, so that what its agent is told carries the
// new fence: an agent does nothing under an older one.
std::string Actions::carry_out(api::Call& call, Machine& machine,
                               const MachineActionWish& wish) const {
    switch (wish.action) {
        case MachineAction::quarantine:
            put_aside(call, machine, wish);
            return "The machine is in quarantine until an operator releases it; a job that ran on "
                   "it is stopped and settled.";
        case MachineAction::release: return release(call, machine);
        case MachineAction::verify: return verify(call, machine);
        case MachineAction::unverify: return unverify(call, machine);
        case MachineAction::retire:
            // Whatever it does is ended as by a quarantine; there is no other way out of a job.
            put_aside(call, machine, wish);
            machines::apply(call.context(), machine, machines::MachineEvent::retire);
            machines::cancel_commands(call.tx(), machine.machine_id);
            return "The machine is gone from this service, and its agent is not heard any more; a "
                   "job that ran on it is stopped and settled. Its history is kept.";
    }
    return {};
}

void Actions::put_aside(api::Call& call, Machine& machine, const MachineActionWish& wish) const {
    machines::cancel_commands(call.tx(), machine.machine_id);
    machines::apply(call.context(), machine, machines::MachineEvent::quarantine,
                    {.cause = machines::QuarantineCause::operator_, .reason = wish.reason.value});
    rentals_.put_aside(call.context(), machine);
}

MachineActionTaken Actions::act(api::Call& call, MachineId id,
                                const MachineActionWish& wish) const {
    Machine machine = require_machine(call, id);
    call.require_step_up();
    require_version(machine, wish);
    const Machine before = machine;
    MachineActionTaken taken;
    taken.consequence = carry_out(call, machine, wish);
    const auto changes = changes_between(before, machine);
    for (const audit::Change& change : changes)
        taken.changed.push_back({change.field, change.from, change.to});
    taken.machine_id = id;
    taken.version = {machine.version};
    taken.action = wish.action;
    taken.audit_event_id =
        audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                       .action = std::string(enum_name(wish.action)) + "_machine",
                                       .target = {"machine", to_string(id)},
                                       .reason = wish.reason.value,
                                       .changes = changes,
                                       .request = call.request_id});
    return taken;
}

api::ActionPreview Actions::preview(api::Call& call, MachineId id,
                                    const MachineActionWish& wish) const {
    Machine machine = require_machine(call, id);
    return api::preview_of([&](api::ActionPreview& shown) {
        require_version(machine, wish);
        const std::optional<JobId> job = machine.job_id;
        const OnMachine before = look_at_machine(call.tx(), machine, job);
        shown.consequence = carry_out(call, machine, wish);
        add_machine_effects(shown, before, look_at_machine(call.tx(), machine, job));
    });
}

void Actions::add_routes(api::Router& router) const {
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/machines/{id}/actions",
         .name = "act_on_machine",
         .group = "admin",
         .summary = "Puts a machine aside, lets it come back, vouches for it, or retires it.",
         .access = api::Access::admin,
         .work = api::Work::write,
         .step_up = api::StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {Code::not_found,
                    {Code::stale_version, "the machine is at another version"},
                    {Code::conflict, "a machine that is not in quarantine is released"},
                    {Code::conflict, "a simulated machine is verified"}}},
        [this](api::Call& call, const api::Path<machines::MachinePath>& path,
               const api::Body<MachineActionWish>& body) { return act(call, path->id, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/machines/{id}/actions/preview",
                .name = "preview_machine_action",
                .group = "admin",
                .summary = "What such a command would end and stop; changes nothing.",
                .access = api::Access::admin,
                .work = api::Work::rehearse,
                .errors = {Code::not_found}},
               [this](api::Call& call, const api::Path<machines::MachinePath>& path,
                      const api::Body<MachineActionWish>& body) {
                   return preview(call, path->id, *body);
               });
}

}  // namespace berth::hosts
