// What a host agent tells of its job as it happens, one event after the other.
#include <algorithm>

#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "machines/states.hpp"
#include "rentals/carriage.hpp"
#include "rentals/egress.hpp"
#include "rentals/host_agent_side.hpp"
#include "rentals/ready.hpp"
#include "rentals/told.hpp"
#include "wire/open.hpp"

namespace berth::rentals {
namespace {

using agent_protocol::given;
using agent_protocol::JobEventKind;

constexpr std::string_view place = "body.evidence";

// What tells an event from every other of its job.
std::string content_of(const agent_protocol::JobEvent& event) {
    const auto text = wire::canonical(wire::encode(event));
    require(text.has_value(), "an event that was read is JSON");
    return agent_protocol::sha256_hash(*text);
}

bool may_repeat(JobEventKind kind) {
    return kind == JobEventKind::usage || kind == JobEventKind::progress;
}

// How much earlier than we an agent may think that the funding, or a lease, is over.
constexpr Duration own_stop_early = std::chrono::seconds(5);

// Progress comes every second; a record of it once a minute is enough. So it is of other things
// that can be told without end, once there are records in plenty.
bool is_told_often(JobEventKind kind, const JobLive& live) {
    if (kind == JobEventKind::progress || (kind == JobEventKind::usage && is_spent(live)))
        return true;
    const bool is_endless =
        kind == JobEventKind::usage || (kind == JobEventKind::cleaned && !live.cleaned_at);
    return is_endless && live.evidence_count >= records_in_plenty;
}

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

void keep_egress(db::Transaction& tx, JobId job, const agent_protocol::Maybe<Decimal>& bytes) {
    if (const auto sent = given(bytes)) save_egress(tx, job, sent->value);
}

// A pull is waited for as long as it brings something worth the wait: its registry may be the
// renter's own. A machine that runs processes of its own may not know how much has come.
void note_progress(HeldJob& held, ProgressStep step, std::optional<std::int64_t> done, Time now) {
    JobLive& live = held.job.live;
    if (step == ProgressStep::pull) {
        const bool is_counted =
            done || !held.machine || held.machine->runtime_kind == machines::RuntimeKind::container;
        if (is_counted && done.value_or(0) - live.pulled_bytes < pull_bytes_expected) return;
        live.pulled_bytes = done.value_or(live.pulled_bytes);
    }
    live.waiting_since = now;
}

}  // namespace

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
        const auto ready = read_ready(event, tls_of(job->terms));
        require_endpoints(job->terms, ready);
        questions = questions_about(job->terms, ready, find_named_doors(tx, job->terms, ready),
                                    open_endpoint_key(parts_.sealer, job->terms));
    } catch (const Problem&) {
        return nothing;  // event() says what is wrong with it
    }
    if (questions.empty()) return nothing;
    const EndpointProber::Asked of{id, machine.owner};
    return [&prober = parts_.prober, of, questions] {
        EndpointProber::Answers answers = prober.ask_all(of, questions);
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
    const bool is_due =
        may_repeat(event.kind) ? is_usage_due(live, context.now) : is_record_due(live, context.now);
    const bool is_kept = is_open && (!is_often || is_due);
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
    const auto bytes = [](const agent_protocol::Maybe<Decimal>& member) {
        const auto number = given(member);
        return number ? std::optional(number->value) : std::nullopt;
    };
    note_progress(held, progress.step, bytes(progress.done_bytes), context.now);
    save_progress(context.tx, {.job_id = held.job.terms.job_id,
                               .progress_step = progress.step,
                               .progress_done = bytes(progress.done_bytes),
                               .progress_total = bytes(progress.total_bytes)});
}

// What goes through a gate is always between the engine and who has its key.
EngineTls HostAgentSide::tls_of(const JobTerms& terms) const {
    return terms.is_by_gate() ? EngineTls::required : parts_.engine_tls;
}

void HostAgentSide::take_ready(const db::Context& context, HeldJob& held, const JobEvent& event,
                               const machines::EventFacts& facts) const {
    const auto ready = read_ready(event, tls_of(held.job.terms));
    note_accepted(context, held);
    find(held.job.live.state, Event::ready, {});  // refused before anything else is
    require_endpoints(held.job.terms, ready);
    const auto doors = find_named_doors(context.tx, held.job.terms, ready);
    if (facts.fault) throw Problem(Code::conflict, *facts.fault);
    JobLive& live = held.job.live;
    live.container_id = ready.container_id.value;
    live.boot_id = ready.boot_id.value;
    JobDetails details = find_details(context.tx, live.job_id);
    details.endpoints = stored(to_store(context, ready.endpoints.value, {facts.addresses, doors}));
    details.ssh_fingerprint =
        facts.ssh_fingerprint ? facts.ssh_fingerprint : told_fingerprint(ready);
    if (const auto took = given(ready.time_to_ready)) {
        details.pull_ms = took->pull_ms.value;
        details.load_ms = took->load_ms.value;
        details.probe_ms = took->probe_ms.value;
    }
    details.progress_step.reset();
    save_details(context.tx, details);
    std::optional<TimeToReady> took;
    if (const auto told = given(ready.time_to_ready))
        took = TimeToReady{{told->pull_ms.value}, {told->load_ms.value}, {told->probe_ms.value}};
    parts_.lifecycle.apply(context, held, Event::ready, {.at = context.now});
    parts_.lifecycle.apply(context, held, Event::serve, {.at = context.now, .took = took});
    if (held.has_machine()) machines::save(context, *held.machine);
}

void HostAgentSide::take_usage(const db::Context& context, HeldJob& held,
                               const JobEvent& event) const {
    const auto usage =
        wire::decode_known<agent_protocol::UsageEvidence>(event.evidence.text, place);
    const JobLive& live = held.job.live;
    if (!is_live(live.state)) return;
    keep_log(context.tx, context.now, live.job_id, usage.log_tail);
    keep_egress(context.tx, live.job_id, usage.egress_bytes);
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
    if (const auto sent = given(usage.egress_bytes)) note_egress(context, held, sent->value);
}

// The renter is told once. Where nothing is included, there is nothing that could become little.
void HostAgentSide::note_egress(const db::Context& context, HeldJob& held,
                                std::int64_t sent_bytes) const {
    const JobTerms& terms = held.job.terms;
    JobLive& live = held.job.live;
    if (live.egress_low_at || !is_metered(live.state)) return;
    const auto egress = egress_of(terms, sent_bytes);
    if (!egress || egress->included_bytes.value == 0 || egress->state == EgressState::within)
        return;
    live.egress_low_at = context.now;
    events::tell(context, rental_egress_low, terms.renter_id, terms.job_id, EgressFacts{*egress});
}

void HostAgentSide::take_end(const db::Context& context, HeldJob& held,
                             const JobEvent& event) const {
    const auto end = wire::decode_known<agent_protocol::EndEvidence>(event.evidence.text, place);
    JobLive& live = held.job.live;
    if (!is_live(live.state)) return;
    keep_log(context.tx, context.now, live.job_id, end.log_tail);
    keep_egress(context.tx, live.job_id, end.egress_bytes);
    if (is_before_ready(live.state)) {
        Failure failure = event_evidence::failure_of(end);
        const Blame blame = blame_for(context.tx, held.job.terms, failure.code, context.now);
        return parts_.lifecycle.apply(
            context, held, Event::exited,
            {.at = context.now, .failure = std::move(failure), .blame = blame});
    }
    if (live.meter_started_at && !is_same_workload(held, event_evidence::text_of(end.container_id),
                                                   event_evidence::text_of(end.boot_id)))
        return lose_host(context, held);
    const auto told = funding_end(held.job);
    look_at_carriage(context, held.job);
    if (const auto runtime = given(end.runtime_ms); runtime && live.meter_started_at)
        parts_.lifecycle.accept_usage(context, held, {.runtime_ms = runtime->value});
    if (is_metered(live.state)) {
        // An agent stops by itself where the funding ends; we may not have looked yet, or its clock
        // may be a little ahead. It knows the end that it was told, before the meter stood more.
        const bool is_own_stop = event_evidence::is_own_stop(end);
        const Due limit = is_own_stop ? told.value() : funding_end(held.job).value();
        const Duration early = is_own_stop ? own_stop_early : Duration{};
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
    const auto machine =
        event_evidence::wipeable(context.tx, held.machine ? &*held.machine : nullptr);
    if (event_evidence::is_wiped(cleaned, machine)) {
        save_clean_error(context.tx, live.job_id, std::nullopt);
        return parts_.lifecycle.apply(context, held, Event::cleaned, {.at = context.now});
    }
    save_clean_error(context.tx, live.job_id, event_evidence::wipe_trouble(cleaned));
    if (allows(live.state, Event::clean_overdue, {}))
        parts_.lifecycle.apply(context, held, Event::clean_overdue,
                               {.at = context.now, .wipe_failed = true});
}

}  // namespace berth::rentals
