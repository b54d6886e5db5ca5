#include "rentals/stray_jobs.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "machines/states.hpp"
#include "rentals/event_evidence.hpp"
#include "wire/open.hpp"

namespace berth::rentals {
namespace {

bool serves_a_job(const machines::Machine& machine) {
    using enum machines::MachineState;
    return machine.state == ALLOCATED || machine.state == DRAINING || machine.state == CLEANING ||
           machine.job_id;
}

}  // namespace

void StrayJobs::take_in(const db::Context& context, machines::Machine& machine, JobId job) const {
    const auto open = list_strays(context.tx, machine.machine_id, strays_open_max);
    if (std::find(open.begin(), open.end(), job) == open.end()) {
        if (open.size() >= strays_open_max) return;
        add_stray(context.tx, machine.machine_id, job, context.now);
        log(Level::warn, "stray_job",
            {{"machine_id", to_string(machine.machine_id)}, {"job_id", to_string(job)}});
    }
    if (!serves_a_job(machine))
        machines::apply(context, machine, machines::MachineEvent::stray, {.job_id = job});
    const auto waits = [&](machines::CommandKind kind) {
        return machines::has_command(context.tx, machine.machine_id, kind, job, context.now);
    };
    if (!waits(machines::CommandKind::stop))
        lifecycle_.send_stop(context, machine, job, "unknown_job");
    if (!waits(machines::CommandKind::clean)) lifecycle_.send_clean(context, machine, job);
}

machines::JobEventOutcome StrayJobs::event(const db::Context& context, machines::Machine& machine,
                                           JobId job, const agent_protocol::JobEvent& event) const {
    const auto stray = find_stray(context.tx, machine.machine_id, job);
    if (!stray) throw Problem(Code::not_found, "no such job");
    const bool is_cleaned = stray->cleaned_at.has_value();
    if (is_cleaned || event.kind != agent_protocol::JobEventKind::cleaned)
        return {std::string(enum_name(is_cleaned ? JobState::CLOSED : JobState::STOPPING)), {}};
    const auto said =
        wire::decode_known<agent_protocol::CleanedEvidence>(event.evidence.text, "body.evidence");
    const bool holds = machine.job_id == job;
    if (!event_evidence::is_wiped(said, event_evidence::wipeable(context.tx, &machine))) {
        if (holds)
            machines::apply(context, machine, machines::MachineEvent::quarantine,
                            {.cause = machines::QuarantineCause::wipe_failed});
        return {std::string(enum_name(JobState::STOPPING)), {}};
    }
    note_stray_cleaned(context.tx, machine.machine_id, job, context.now);
    if (holds) end_cleaning(context, machine);
    return {std::string(enum_name(JobState::CLOSED)), {}};
}

void end_cleaning(const db::Context& context, machines::Machine& machine) {
    const auto open = list_strays(context.tx, machine.machine_id, 1);
    if (open.empty())
        machines::apply(context, machine, machines::MachineEvent::cleaned);
    else
        machines::apply(context, machine, machines::MachineEvent::stray, {.job_id = open.front()});
}

}  // namespace berth::rentals
