#include "rentals/host_agent_side.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machines/heartbeats.hpp"
#include "machines/states.hpp"
#include "rentals/blame.hpp"
#include "rentals/deadline_worker.hpp"
#include "wire/open.hpp"

namespace berth::rentals {
namespace {

using agent_protocol::CommandKind;

// By how much an agent's clock may be ahead of ours from one report to the next before the report
// is on record for it.
constexpr std::int64_t cut_unnoticed_ms = 1000;

bool gets_leases(JobState state) { return is_before_ready(state) || is_metered(state); }

}  // namespace

std::vector<agent_protocol::Lease> HostAgentSide::heartbeat(
    const db::Context& context, machines::Machine& machine, const agent_protocol::Heartbeat& beat,
    const machines::SignedMessage& message) {
    std::vector<agent_protocol::Lease> granted;
    std::optional<JobState> own;  // of the job that the machine is rented to, if it holds it
    for (const agent_protocol::JobReport& report : beat.jobs.value) {
        auto job = lock_job(context.tx, report.job_id);
        if (!job || job->terms.machine_id != machine.machine_id) {
            parts_.strays.take_in(context, machine, report.job_id);
            continue;
        }
        HeldJob held{std::move(*job), machine};
        if (auto lease = take_report(context, held, {report, beat.boot_id.value}, message))
            granted.push_back(std::move(*lease));
        if (machine.job_id == report.job_id) own = held.job.live.state;
        machine = std::move(*held.machine);
    }
    if (!own || !(*own == JobState::STARTING || is_metered(*own)))
        renew_commands(context, machine,
                       {own.has_value(), beat.jobs.value.size() > (own ? 1U : 0U)});
    return granted;
}

// A command is over by the clock, also while nobody could hear it: what the state of a job wants of
// the agent is said again as long as it does. A machine that holds another job, as after a restored
// backup, is told of no new one: it could only refuse, and would be blamed for it.
void HostAgentSide::renew_commands(const db::Context& context, const machines::Machine& machine,
                                   const Holds& holds) const {
    if (!machine.job_id) return;
    if (machine.state == machines::MachineState::QUARANTINED)
        return clean_up(context, machine, holds.own_job);
    auto job = find_job(context.tx, *machine.job_id);
    if (!job) return;
    const JobId id = *machine.job_id;
    const auto lacks = [&](CommandKind kind) {
        return !machines::has_command(context.tx, machine.machine_id, kind, id, context.now);
    };
    const JobLive& live = job->live;
    if (live.state == JobState::RESERVED && !holds.other_jobs && lacks(CommandKind::start)) {
        parts_.lifecycle.commands().repeat(context, machine,
                                           {CommandKind::start, id, start_expires_after});
    } else if (live.state == JobState::STOPPING && lacks(CommandKind::stop)) {
        const std::string reason = live.end_reason ? std::string(enum_name(*live.end_reason)) : "";
        parts_.lifecycle.send_stop(context, machine, id, reason, live.lease_seq);
    } else if (is_over(live.state) && live.clean_sent_at && lacks(CommandKind::clean)) {
        begin_cleaning_anew(context, machine, id);
    }
}

// The wait for CLEANED begins when the agent can have heard of it.
void HostAgentSide::begin_cleaning_anew(const db::Context& context,
                                        const machines::Machine& machine, JobId id) const {
    if (!machines::is_delivered(context.tx, machine.machine_id, CommandKind::clean, id)) {
        auto job = lock_job(context.tx, id);
        if (!job || !job->live.clean_sent_at) return;
        job->live.clean_sent_at = context.now;
        save(context, *job);
    }
    parts_.lifecycle.send_clean(context, machine, id);
}

// An agent that comes back to a machine put aside cleans what its last job left.
void HostAgentSide::clean_up(const db::Context& context, const machines::Machine& machine,
                             bool holds_job) const {
    if (machines::has_command(context.tx, machine.machine_id, CommandKind::clean, *machine.job_id,
                              context.now))
        return;
    const auto job = find_job(context.tx, *machine.job_id);
    if (job && !is_over(job->live.state)) return;
    if (holds_job) parts_.lifecycle.send_stop(context, machine, *machine.job_id, "quarantined");
    parts_.lifecycle.send_clean(context, machine, *machine.job_id);
}

std::vector<agent_protocol::Lease> HostAgentSide::leases(const db::Context& context,
                                                         const machines::Machine& machine) {
    if (!machine.job_id) return {};
    const auto job = find_job(context.tx, *machine.job_id);
    if (!job || !gets_leases(job->live.state) || !job->live.lease_until) return {};
    return {lease_of(*job)};
}

std::optional<agent_protocol::Lease> HostAgentSide::take_report(
    const db::Context& context, HeldJob& held, const Report& said,
    const machines::SignedMessage& message) const {
    const agent_protocol::JobReport& report = said.job;
    JobLive& live = held.job.live;
    if (!is_live(live.state)) return std::nullopt;
    const JobLive stored = live;
    meet_restored(context, held, report);
    live.seen_at = context.now;
    if (live.meter_started_at) {
        std::optional<std::string> container;
        if (report.container_id.value) container = report.container_id.value->value;
        const bool is_lost = !is_same_workload(held, container, said.boot_id);
        if (!is_lost)
            parts_.lifecycle.accept_usage(
                context, held,
                {.runtime_ms = report.runtime_ms.value, .renews_lease = gets_leases(live.state)});
        const bool stands = live.stands_since || live.stood_ms > stored.stood_ms;
        const bool is_cut = !live.engine_down_at && !live.gpu_lost_at && !live.meter_stopped_at &&
                            !stands &&
                            live.reported_ms - stored.reported_ms >
                                live.accepted_ms - stored.accepted_ms + cut_unnoticed_ms;
        if (is_lost || (is_cut && !is_spent(live)) || is_usage_due(live, context.now)) {
            live.usage_kept_at = context.now;
            keep(context.tx, context.now, live,
                 {.kind = "USAGE",
                  .payload = wire::encode(report),
                  .sealed = sealed_of(message),
                  .lease_seq = report.lease_seq.value});
        }
        if (is_lost) {
            lose_host(context, held);
            return std::nullopt;
        }
    }
    std::optional<agent_protocol::Lease> lease;
    if (gets_leases(live.state)) lease = parts_.lifecycle.grant(context, held.job);
    save(context, held.job, stored);
    return lease;
}

// After a restored backup the agent was granted more than we know of. What we say next is above it,
// and it is our budget that holds: the rest of a larger one is not in the books.
void HostAgentSide::meet_restored(const db::Context& context, HeldJob& held,
                                  const agent_protocol::JobReport& report) const {
    JobLive& live = held.job.live;
    const std::int64_t highest = std::max(report.lease_seq.value, report.budget_version.value);
    if (highest >= machines::fence_max)
        throw Problem(Code::invalid_input,
                      "body.jobs: a lease_seq or budget_version is beyond any that we gave");
    live.lease_seq = std::max(live.lease_seq, report.lease_seq.value);
    if (report.budget_version.value <= live.budget_version) return;
    live.budget_version = report.budget_version.value + 1;
    if (gets_leases(live.state)) parts_.lifecycle.send_budget(context, held);
}

bool HostAgentSide::is_same_workload(const HeldJob& held,
                                     const std::optional<std::string>& container_id,
                                     const std::optional<std::string>& boot_id) const {
    const JobLive& live = held.job.live;
    return (!container_id || live.container_id == container_id) &&
           (!boot_id || live.boot_id == boot_id);
}

void HostAgentSide::lose_host(const db::Context& context, HeldJob& held) const {
    parts_.lifecycle.apply(
        context, held, Event::host_lost,
        {.at = context.now,
         .failure = Failure{FailureCode::HOST_LOST,
                            "The host, or the container in it, was started anew."}});
}

void HostAgentSide::gpus_turned(const db::Context& context, machines::Machine& machine) {
    if (!machine.job_id) return;
    auto job = lock_job(context.tx, *machine.job_id);
    if (!job || !is_metered(job->live.state)) return;
    HeldJob held{std::move(*job), machine};
    parts_.lifecycle.turn_gpus(context, held, machine.has_lost_gpu());
    save(context, held.job);
}

void HostAgentSide::note_listening(db::Database& database, Time now) {
    database.write([&](db::Transaction& tx) { rentals::note_listening(tx, now, outage_after); });
}

void HostAgentSide::acknowledge(const db::Context& context, machines::Machine& machine,
                                const machines::CommandAck& ack,
                                const machines::SignedMessage& message) {
    auto job = lock_job(context.tx, ack.job_id);
    if (!job || job->terms.machine_id != machine.machine_id) return;
    HeldJob held{std::move(*job), machine};
    const bool rejected = ack.ack.result == agent_protocol::AckResult::rejected;
    const JobState state = held.job.live.state;
    held.job.live.seen_at = context.now;
    if (is_live(state))
        keep(context.tx, context.now, held.job.live,
             {.kind = "ACK",
              .payload = fmt::format(R"({{"command_id":"{}","kind":"{}","ack":{}}})",
                                     to_string(ack.command_id), enum_name(ack.kind),
                                     wire::encode(ack.ack)),
              .sealed = sealed_of(message)});
    if (ack.kind == CommandKind::start && !rejected) {
        note_accepted(context, held);
    } else if (ack.kind == CommandKind::start && is_before_ready(state)) {
        take_refusal(context, held, ack.ack);
    } else if (ack.kind == CommandKind::budget && !rejected) {
        if (!ack.ack.detail)
            throw Problem(Code::invalid_input, "body.detail: must say which budget was taken");
        const auto detail =
            wire::decode_known<agent_protocol::BudgetPayload>(ack.ack.detail->text, "body.detail");
        if (detail.budget_version.value < held.job.live.budget_version)
            throw Problem(Code::budget_version_older, "there is a newer budget");
        if (detail.budget_version.value == held.job.live.budget_version &&
            detail.budget_micro != held.job.live.budget)
            throw Problem(Code::budget_funding_mismatch, "this version has another amount");
    }
    save(context, held.job);
    machine = std::move(*held.machine);
}

// A host that refuses a template has nobody else to blame, but for rules of its owner (renters do
// not know them, and whoever does could have the machine put aside by them) and for want of a gate.
void HostAgentSide::take_refusal(const db::Context& context, HeldJob& held,
                                 const agent_protocol::Ack& refused) const {
    const bool is_by_policy = event_evidence::is_by_policy(refused);
    if (is_by_policy) note_policy_refusal(context.tx, held.job.terms, context.now);
    const Failure failure = event_evidence::failure_of(refused);
    const bool is_for_gate =
        failure.code == FailureCode::NO_GATE &&
        blame_for(context.tx, held.job.terms, failure.code, context.now) != Blame::host;
    const bool is_hosts = held.job.terms.template_id && !is_by_policy && !is_for_gate;
    parts_.lifecycle.apply(
        context, held, Event::start_rejected,
        {.at = context.now, .failure = failure, .blame = is_hosts ? Blame::host : Blame::nobody});
}

}  // namespace berth::rentals
