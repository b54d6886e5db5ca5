#include "rentals/host_agent_side.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "machines/heartbeats.hpp"
#include "machines/states.hpp"
#include "rentals/deadline_worker.hpp"
#include "rentals/ready.hpp"
#include "wire/open.hpp"

namespace berth::rentals {
namespace {

using agent_protocol::CommandKind;
using agent_protocol::given;
using agent_protocol::JobEventKind;

constexpr std::string_view place = "body.evidence";

SignedEvidence sealed_of(const machines::SignedMessage& message) {
    return {to_base64(message.body),
            message.signature_input,
            message.signature,
            message.authority,
            message.path,
            message.public_key};
}

// What tells an event from every other of its job.
std::string content_of(const agent_protocol::JobEvent& event) {
    const auto text = wire::canonical(wire::encode(event));
    require(text.has_value(), "an event that was read is JSON");
    return agent_protocol::sha256_hash(*text);
}

bool may_repeat(JobEventKind kind) {
    return kind == JobEventKind::usage || kind == JobEventKind::progress;
}

// By how much an agent's clock may be ahead of ours from one report to the next before the report
// is on record for it.
constexpr std::int64_t cut_unnoticed_ms = 1000;

// How much earlier than we an agent may think that the funding, or a lease, is over.
constexpr Duration own_stop_early = std::chrono::seconds(5);

// Of usage in heartbeats, of progress and of refused READYs, which are told again and again.
bool is_record_due(const JobLive& live, Time now) {
    return !live.usage_kept_at || now - *live.usage_kept_at >= usage_kept_every;
}

// Progress comes every second; a record of it once a minute is enough. So it is of other things
// that can be told without end, once there are records in plenty.
bool is_told_often(JobEventKind kind, const JobLive& live) {
    if (kind == JobEventKind::progress) return true;
    const bool is_endless =
        kind == JobEventKind::usage || (kind == JobEventKind::cleaned && !live.cleaned_at);
    return is_endless && live.evidence_count >= records_in_plenty;
}

bool gets_leases(JobState state) { return is_before_ready(state) || is_metered(state); }

void check_lease(db::Transaction& tx, const JobRow& job, const agent_protocol::JobEvent& event) {
    // Cleaning needs no lease: an agent forgets it when it has cleaned, a restored server may not
    // know it, and a wipe that failed is told of again until it has not.
    if (event.kind == JobEventKind::cleaned && !job.live.cleaned_at) return;
    const std::int64_t seq = event.lease_seq.value;
    if (seq > job.live.lease_seq) throw Problem(Code::conflict, "this lease was never granted");
    if (seq < job.live.lease_seq - 1)
        throw Problem(Code::lease_seq_replay, "this lease is of the past");
    if (!may_repeat(event.kind) && has_evidence(tx, job.terms.job_id, enum_name(event.kind), seq))
        throw Problem(Code::lease_seq_replay, "this was told otherwise under the same lease");
}

void keep_log(db::Transaction& tx, Time now, JobId job,
              const agent_protocol::Maybe<agent_protocol::LogTail>& log_tail) {
    const auto text = given(log_tail);
    if (!text) return;
    save_log(tx, job, redact(text->value), now);
}

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
        const bool is_cut = !live.engine_down_at && !live.meter_stopped_at &&
                            live.reported_ms - stored.reported_ms >
                                live.accepted_ms - stored.accepted_ms + cut_unnoticed_ms;
        if (is_lost || is_cut || is_record_due(live, context.now)) {
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

std::function<machines::EventFacts()> HostAgentSide::prepare(db::Transaction& tx,
                                                             const machines::Machine& machine,
                                                             JobId id, const JobEvent& event) {
    const auto nothing = [] { return machines::EventFacts{}; };
    if (event.kind != JobEventKind::ready) return nothing;
    const auto job = find_job(tx, id);
    if (!job || job->terms.machine_id != machine.machine_id || !is_before_ready(job->live.state))
        return nothing;
    std::vector<EndpointProber::Question> questions;
    try {
        const auto ready = read_ready(event);
        require_endpoints(job->terms, ready);
        questions =
            questions_about(job->terms, ready, open_endpoint_key(parts_.sealer, job->terms));
    } catch (const Problem&) {
        return nothing;  // event() says what is wrong with it
    }
    if (questions.empty()) return nothing;
    return [&prober = parts_.prober, id, questions] {
        EndpointProber::Answers answers = prober.ask_all(id, questions);
        return machines::EventFacts{std::move(answers.fault), std::move(answers.addresses),
                                    std::move(answers.fingerprint)};
    };
}

void HostAgentSide::note_refused(const db::Context& context,
                                 const machines::RefusedEvent& refused) {
    if (!machines::hold(context.tx, refused.machine)) return;
    auto job = lock_job(context.tx, refused.job);
    if (!job || job->terms.machine_id != refused.machine) return;
    JobLive& live = job->live;
    if (!is_before_ready(live.state) || !is_record_due(live, context.now)) return;
    live.usage_kept_at = context.now;
    keep_refusal(context.tx, context.now, live,
                 {.kind = std::string(enum_name(refused.event.kind)),
                  .payload = refused.event.evidence.text,
                  .sealed = sealed_of(refused.message),
                  .lease_seq = refused.event.lease_seq.value},
                 refused.why);
    save(context, *job);
}

machines::JobEventOutcome HostAgentSide::event(const db::Context& context,
                                               machines::Machine& machine, JobId id,
                                               const JobEvent& event,
                                               const machines::EventFacts& facts,
                                               const machines::SignedMessage& message) {
    auto job = lock_job(context.tx, id);
    if (!job || job->terms.machine_id != machine.machine_id)
        return parts_.strays.event(context, machine, id, event);
    const std::string content = content_of(event);
    if (const auto before = find_resent(context.tx, id, content)) {
        if (const auto lease = before->answer)
            return {std::string(enum_name(job->live.state)),
                    lease->empty()
                        ? std::nullopt
                        : std::optional(wire::decode<agent_protocol::Lease>(*lease, "lease"))};
    }
    check_lease(context.tx, *job, event);
    HeldJob held{std::move(*job), machine};
    JobLive& live = held.job.live;
    const JobLive stored = live;
    live.seen_at = context.now;
    const bool was_before_ready = is_before_ready(live.state);
    // What is said of a job that is over changes nothing, and its records are closed: but for its
    // cleaning.
    const bool is_open =
        event.kind == JobEventKind::cleaned ? !live.cleaned_at.has_value() : is_live(live.state);
    take(context, held, event, facts);
    std::optional<agent_protocol::Lease> lease;
    if (event.kind == JobEventKind::ready && was_before_ready)
        lease = parts_.lifecycle.grant(context, held.job);
    const bool is_often = is_told_often(event.kind, live);
    const bool is_kept = is_open && (!is_often || is_record_due(live, context.now));
    if (is_often && is_kept) live.usage_kept_at = context.now;
    if (is_kept)
        keep(context.tx, context.now, live,
             {.kind = std::string(enum_name(event.kind)),
              .payload = event.evidence.text,
              .sealed = sealed_of(message),
              .lease_seq = event.lease_seq.value,
              .content_hash = content,
              .answer = lease ? wire::encode(*lease) : ""});
    save(context, held.job, stored);
    machine = std::move(*held.machine);
    return {std::string(enum_name(live.state)), lease};
}

void HostAgentSide::take(const db::Context& context, HeldJob& held, const JobEvent& event,
                         const machines::EventFacts& facts) const {
    switch (event.kind) {
        case JobEventKind::started: return note_accepted(context, held);
        case JobEventKind::progress: return take_progress(context, held, event);
        case JobEventKind::ready: return take_ready(context, held, event, facts);
        case JobEventKind::usage: return take_usage(context, held, event);
        case JobEventKind::preempt_notice:
            return parts_.lifecycle.apply(context, held, Event::preempt_notice,
                                          {.at = context.now});
        case JobEventKind::exited:
        case JobEventKind::stopped: return take_end(context, held, event);
        case JobEventKind::cleaned: return take_cleaned(context, held, event);
    }
}

// Whoever tells of a start has accepted it, even if the acknowledgement was lost or comes later.
void HostAgentSide::note_accepted(const db::Context& context, HeldJob& held) const {
    if (held.job.live.state == JobState::RESERVED)
        parts_.lifecycle.apply(context, held, Event::start_accepted, {.at = context.now});
}

void HostAgentSide::take_progress(const db::Context& context, HeldJob& held,
                                  const JobEvent& event) const {
    const auto progress =
        wire::decode_known<agent_protocol::ProgressEvidence>(event.evidence.text, place);
    note_accepted(context, held);
    if (held.job.live.state != JobState::STARTING) return;
    held.job.live.waiting_since = context.now;
    const auto bytes = [](const agent_protocol::Maybe<Decimal>& member) {
        const auto number = given(member);
        return number ? std::optional(number->value) : std::nullopt;
    };
    save_progress(context.tx, {.job_id = held.job.terms.job_id,
                               .progress_step = progress.step,
                               .progress_done = bytes(progress.done_bytes),
                               .progress_total = bytes(progress.total_bytes)});
}

void HostAgentSide::take_ready(const db::Context& context, HeldJob& held, const JobEvent& event,
                               const machines::EventFacts& facts) const {
    const auto ready = read_ready(event);
    note_accepted(context, held);
    find(held.job.live.state, Event::ready, {});  // refused before anything else is
    require_endpoints(held.job.terms, ready);
    if (facts.fault) throw Problem(Code::conflict, *facts.fault);
    JobLive& live = held.job.live;
    live.container_id = ready.container_id.value;
    live.boot_id = ready.boot_id.value;
    JobDetails details = find_details(context.tx, live.job_id);
    details.endpoints = stored(to_store(context, ready.endpoints.value, facts.addresses));
    details.ssh_fingerprint =
        facts.ssh_fingerprint ? facts.ssh_fingerprint : told_fingerprint(ready);
    if (const auto took = given(ready.time_to_ready)) {
        details.pull_ms = took->pull_ms.value;
        details.load_ms = took->load_ms.value;
        details.probe_ms = took->probe_ms.value;
    }
    details.progress_step.reset();
    save_details(context.tx, details);
    parts_.lifecycle.apply(context, held, Event::ready, {.at = context.now});
    parts_.lifecycle.apply(context, held, Event::serve, {.at = context.now});
    if (held.has_machine()) machines::save(context, *held.machine);
}

void HostAgentSide::take_usage(const db::Context& context, HeldJob& held,
                               const JobEvent& event) const {
    const auto usage =
        wire::decode_known<agent_protocol::UsageEvidence>(event.evidence.text, place);
    const JobLive& live = held.job.live;
    if (!is_live(live.state)) return;
    keep_log(context.tx, context.now, live.job_id, usage.log_tail);
    if (!live.meter_started_at) return;
    if (!is_same_workload(held, usage.container_id.value, usage.boot_id.value))
        return lose_host(context, held);
    // Who has SSH could stop the engine and keep the machine.
    EngineStatus status = EngineStatus::unknown;
    const auto engine = given(usage.engine);
    if (engine && held.job.terms.readiness_path && !held.job.terms.has_ssh)
        status = *engine == agent_protocol::Engine::up ? EngineStatus::up : EngineStatus::down;
    parts_.lifecycle.accept_usage(context, held,
                                  {.runtime_ms = usage.runtime_ms.value, .engine = status});
}

void HostAgentSide::take_end(const db::Context& context, HeldJob& held,
                             const JobEvent& event) const {
    const auto end = wire::decode_known<agent_protocol::EndEvidence>(event.evidence.text, place);
    JobLive& live = held.job.live;
    if (!is_live(live.state)) return;
    keep_log(context.tx, context.now, live.job_id, end.log_tail);
    if (is_before_ready(live.state)) {
        const bool in_progress = find_details(context.tx, live.job_id).progress_step.has_value() &&
                                 context.now - live.waiting_since < progress_expected_within;
        return parts_.lifecycle.apply(
            context, held, Event::exited,
            {.at = context.now,
             .failure = event_evidence::failure_of(end),
             .counts_against_machine = !in_progress && held.job.terms.template_id.has_value()});
    }
    if (live.meter_started_at && !is_same_workload(held, event_evidence::text_of(end.container_id),
                                                   event_evidence::text_of(end.boot_id)))
        return lose_host(context, held);
    if (const auto runtime = given(end.runtime_ms); runtime && live.meter_started_at)
        parts_.lifecycle.accept_usage(context, held, {.runtime_ms = runtime->value});
    if (is_metered(live.state)) {
        // An agent stops by itself where the funding ends; we may not have looked yet, or its clock
        // may be a little ahead.
        const Due limit = funding_end(held.job).value();
        const Duration early = event_evidence::is_own_stop(end) ? own_stop_early : Duration{};
        if (limit.at <= context.now + early)
            parts_.lifecycle.apply(context, held, limit.event,
                                   {.at = std::min(limit.at, context.now), .reason = "funding"});
        else
            end_unasked(context, held, end);
    }
    if (event.kind == JobEventKind::stopped)
        parts_.lifecycle.apply(context, held, Event::stopped, {.at = context.now});
}

// Nobody stopped it. Who rents a model without a shell cannot have ended it, so that it was the
// host; unless its lease was over, when an agent has to stop it and it is we who were away.
// Anything else its renter may have ended as well.
void HostAgentSide::end_unasked(const db::Context& context, HeldJob& held,
                                const agent_protocol::EndEvidence& end) const {
    const JobRow& job = held.job;
    const bool is_unheard = job.live.lease_until &&
                            context.now + own_stop_early > *job.live.lease_until + gone_after_lease;
    const bool is_hosts_end =
        job.terms.template_kind == TemplateKind::model && !job.terms.has_ssh && !is_unheard;
    auto failure = event_evidence::fault_of(end);
    if (is_hosts_end && !failure)
        failure = Failure{FailureCode::ENGINE_EXITED,
                          "The host ended the engine, which nobody had asked it for."};
    parts_.lifecycle.apply(context, held, is_hosts_end ? Event::engine_failed : Event::exited,
                           {.at = context.now, .failure = std::move(failure), .reason = "exited"});
}

void HostAgentSide::take_cleaned(const db::Context& context, HeldJob& held,
                                 const JobEvent& event) const {
    const auto cleaned =
        wire::decode_known<agent_protocol::CleanedEvidence>(event.evidence.text, place);
    const JobLive& live = held.job.live;
    if (live.state == JobState::STOPPED && live.retrieval_until)
        throw Problem(Code::conflict, "the renter may still fetch files");
    if (live.cleaned_at) return;
    if (!allows(live.state, Event::cleaned, {})) find(live.state, Event::cleaned, {});
    const std::int64_t gpus = held.machine ? held.machine->gpu_count.value_or(0) : 0;
    if (event_evidence::is_wiped(cleaned, gpus))
        return parts_.lifecycle.apply(context, held, Event::cleaned, {.at = context.now});
    if (allows(live.state, Event::clean_overdue, {}))
        parts_.lifecycle.apply(context, held, Event::clean_overdue,
                               {.at = context.now, .wipe_failed = true});
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
        const auto code =
            ack.ack.code ? std::optional(ack.ack.code->value) : std::optional<std::string>();
        parts_.lifecycle.apply(
            context, held, Event::start_rejected,
            {.at = context.now,
             .failure = Failure{event_evidence::failure_code(code, FailureCode::HOST_REJECTED),
                                "The host refused to start the job."},
             .counts_against_machine = held.job.terms.template_id.has_value()});
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

}  // namespace berth::rentals
