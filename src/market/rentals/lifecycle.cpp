#include "rentals/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/payloads.hpp"
#include "base/check.hpp"
#include "credits/credits.hpp"
#include "ledger/ledger.hpp"
#include "machines/states.hpp"
#include "rentals/carriage.hpp"
#include "rentals/stray_jobs.hpp"
#include "rentals/told.hpp"
#include "wire/wire.hpp"

namespace berth::rentals {
namespace {

constexpr std::int64_t micros_per_day = 86'400'000'000;
constexpr std::int64_t failed_starts_max = 3;
constexpr Duration stop_lasts = std::chrono::seconds(300);
constexpr Duration clean_lasts = std::chrono::seconds(900);
// A job that was billed for so long has paid for the trouble that it made.
constexpr Duration billed_enough = std::chrono::minutes(5);
constexpr Duration budget_lasts = std::chrono::seconds(300);
// More than can come due at once: each of them ends its state.
constexpr int events_at_once_max = 16;

Time next_midnight(Time after) { return {(after.micros / micros_per_day + 1) * micros_per_day}; }

machines::QuarantineCause cause_of(Event event, bool wipe_failed) {
    using machines::QuarantineCause;
    if (event == Event::host_lost) return QuarantineCause::host_lost;
    if (event == Event::stop_overdue) return QuarantineCause::stop_unconfirmed;
    return wipe_failed ? QuarantineCause::wipe_failed : QuarantineCause::wipe_timed_out;
}

// A time that is too early is left alone, since most dues only move away with each heartbeat: the
// worker looks in vain now and then, and the index is not written each time.
void set_deadline(JobRow& job) {
    const auto due = next_due(job, Time{});
    if (!due)
        job.live.deadline_at.reset();
    else if (!job.live.deadline_at || *job.live.deadline_at > due->at)
        job.live.deadline_at = due->at;
}

// Who stops a job now may have waited for its row, or come through a server whose clock is behind:
// what was accepted meanwhile stays, so the meter stands where the last report left it.
Time stop_time(const db::Context& context, const JobLive& live, Time at) {
    return at == context.now ? std::max(at, live.reported_at.value_or(at)) : at;
}

void stop_job_meter(JobRow& job, Time at) {
    const Meter meter = stop_meter(meter_of(job), at);
    job.live.meter_stopped_at = meter.stopped_at;
    job.live.carry_ms = meter.carry_ms;
}

// What a record of ours says of the meter, so that a charge follows from the records alone.
std::string meter_members(const JobRow& job) {
    const JobLive& live = job.live;
    if (!live.meter_started_at) return "";
    return fmt::format(
        R"(,"accepted_runtime_ms":"{}","reported_runtime_ms":"{}","charge_micro":"{}",)"
        R"("meter_started_at":"{}","meter_stopped_at":{}{})",
        live.accepted_ms, live.reported_ms, to_string(charge_of(job)),
        to_rfc3339(*live.meter_started_at),
        live.meter_stopped_at ? fmt::format(R"("{}")", to_rfc3339(*live.meter_stopped_at)) : "null",
        job.terms.is_by_gate() ? fmt::format(R"(,"uncarried_ms":"{}")", live.stood_ms) : "");
}

// Why a start did not come to READY in time: what was last seen of it.
Failure overdue_start(db::Transaction& tx, JobId job, bool in_progress) {
    if (const auto fault = find_refusal(tx, job))
        return {FailureCode::PROBE_FAILED,
                "The workload said that it was ready, but " + *fault + "."};
    const auto step = find_details(tx, job).progress_step.value_or(ProgressStep::pull);
    return {step == ProgressStep::pull ? FailureCode::PULL_TIMEOUT : FailureCode::PROBE_FAILED,
            in_progress ? "The start took longer than its template allows."
                        : "The host made no progress with the start."};
}

// Whether a machine was held for nothing, and neither its host nor we are to blame: what the renter
// is held to.
bool was_for_nothing(const JobRow& job, const Lifecycle::Cause& cause) {
    if (job.live.accepted_ms > 0) return false;
    switch (job.live.end_reason.value_or(EndReason::never_ready)) {
        case EndReason::never_ready: return cause.blame == Blame::renter;
        case EndReason::renter_stop:
        case EndReason::workload_exited:
        case EndReason::funded_expiry:
        case EndReason::duration_limit:
        case EndReason::availability_ended: return true;
        case EndReason::operator_stop:
        case EndReason::custom_images_off:
        case EndReason::engine_failed:
        case EndReason::preempted:
        case EndReason::host_lost:
        case EndReason::gate_lost: return false;
    }
    return false;
}

bool is_delivered(db::Transaction& tx, const JobRow& job) {
    return job.live.state != JobState::RESERVED ||
           machines::is_delivered(tx, job.terms.machine_id, machines::CommandKind::start,
                                  job.terms.job_id);
}

// Whether an agent heard of what it is put aside for not having done.
bool was_told(db::Transaction& tx, const JobTerms& terms, machines::QuarantineCause cause) {
    using machines::QuarantineCause;
    const auto heard = [&](machines::CommandKind kind) {
        return machines::is_delivered(tx, terms.machine_id, kind, terms.job_id);
    };
    if (cause == QuarantineCause::stop_unconfirmed) return heard(machines::CommandKind::stop);
    if (cause == QuarantineCause::wipe_timed_out) return heard(machines::CommandKind::clean);
    return true;
}

}  // namespace

std::optional<HeldJob> hold_job(db::Transaction& tx, JobId id) {
    const auto seen = find_job(tx, id);
    if (!seen) return std::nullopt;
    auto machine = machines::hold(tx, seen->terms.machine_id);
    auto job = lock_job(tx, id);
    require(job.has_value(), "jobs are never deleted");
    return HeldJob{std::move(*job), std::move(machine)};
}

Meter meter_of(const JobRow& job) {
    const JobLive& live = job.live;
    require(live.meter_started_at.has_value(), "only what was READY is metered");
    return {.started_at = *live.meter_started_at,
            .accepted_ms = live.accepted_ms,
            .reported_ms = live.reported_ms,
            .reported_at = live.reported_at.value_or(*live.meter_started_at),
            .carry_ms = live.carry_ms,
            .engine_down = live.engine_down_at.has_value() || live.gpu_lost_at.has_value(),
            .stopped_at = live.meter_stopped_at,
            .lease_until = live.lease_until};
}

accounts::RentalClass rental_class(AvailabilityClass availability_class) {
    return availability_class == AvailabilityClass::interruptible
               ? accounts::RentalClass::interruptible
               : accounts::RentalClass::dedicated;
}

Micro charge_of(const JobRow& job) { return charge_of(terms_of(job), job.live.accepted_ms); }

void save(const db::Context& context, JobRow& job) {
    set_deadline(job);
    save_job(context.tx, job.live);
}

void save(const db::Context& context, JobRow& job, const JobLive& stored) {
    set_deadline(job);
    save_changes(context.tx, stored, job.live);
}

void Lifecycle::apply(const db::Context& context, HeldJob& held, Event event,
                      const Cause& cause) const {
    JobLive& live = held.job.live;
    const Facts facts{
        .start_delivered = is_delivered(context.tx, held.job),
        .is_interruptible = held.job.terms.availability_class == AvailabilityClass::interruptible,
        .is_noticed = live.notice_at.has_value()};
    const JobState from = live.state;
    const Transition& line = find(from, event, facts);
    live.state = line.to;
    if (line.reason) live.end_reason = line.reason;
    if (line.to != from) live.waiting_since = context.now;
    if (!is_over(from) && is_over(line.to)) {
        live.ended_at = context.now;
        if (was_for_nothing(held.job, cause)) live.unbilled_at = context.now;
    }
    if (event == Event::start_accepted) live.accepted_at = context.now;
    if (event == Event::funds_low) live.funds_low_at = context.now;
    if (event == Event::preempt_notice) {
        live.notice_at = cause.at;
        live.notice_until = time_to_tell(held.job, Event::preempt_deadline);
    }
    carry_out(context, held, line, cause);
    keep(context.tx, context.now, live,
         {.kind = "STATE",
          .payload = fmt::format(R"({{"from":"{}","to":"{}","event":"{}"{}}})", enum_name(from),
                                 enum_name(line.to), enum_name(event), meter_members(held.job))});
    if (cause.failure) {
        JobDetails details = find_details(context.tx, live.job_id);
        details.failure_code = cause.failure->code;
        details.failure_message = cause.failure->message;
        save_details(context.tx, details);
    }
    save(context, held.job);
    tell(context, held.job, {line, cause.failure, cause.took});
    // A machine that has left is cleaned by nobody, like one that was put aside.
    const bool is_aside =
        !held.machine || held.machine->state == machines::MachineState::QUARANTINED;
    if (live.state == JobState::STOPPED && is_aside)
        apply(context, held, Event::quarantined, {.at = context.now});
}

void Lifecycle::carry_out(const db::Context& context, HeldJob& held, const Transition& line,
                          const Cause& cause) const {
    JobLive& live = held.job.live;
    for (const Effect effect : line.effects) switch (effect) {
            case Effect::start_meter:
                live.meter_started_at = live.reported_at = live.seen_at = context.now;
                if (held.has_machine()) held.machine->starts_failed = 0;
                if (held.has_machine() && held.machine->has_lost_gpu())
                    live.gpu_lost_at = context.now;
                break;
            case Effect::stop_meter:
                stop_job_meter(held.job, stop_time(context, live, cause.at));
                break;
            case Effect::cut_meter:
                if (live.meter_started_at) stop_job_meter(held.job, live.reported_at.value());
                break;
            case Effect::send_stop:
                if (held.has_machine())
                    send_stop(context, *held.machine, live.job_id, cause.reason, live.lease_seq);
                break;
            case Effect::settle: settle(context, held.job); break;
            case Effect::free_machine: free_machine(context, held, cause); break;
            case Effect::open_retrieval: {
                const bool is_model = held.job.terms.template_kind == TemplateKind::model;
                const bool is_aside =
                    !held.machine || held.machine->state == machines::MachineState::QUARANTINED;
                if (is_model || is_aside || !live.meter_started_at || live.skip_retrieval)
                    begin_cleaning(context, held);
                else
                    live.retrieval_until = time_to_tell(held.job, Event::retrieval_over);
                break;
            }
            case Effect::send_clean: begin_cleaning(context, held); break;
            case Effect::quarantine_machine:
                quarantine(context, held, cause_of(line.event, cause.wipe_failed));
                break;
            case Effect::note_cleaned:
                live.cleaned_at = context.now;
                live.clean_sent_at.reset();
                if (held.has_machine()) end_cleaning(context, *held.machine);
                break;
        }
}

// The one end of a job's money. The table leads here once, and the ledger would refuse a second
// charge of the same total or a second release. Reports have settled every day before that of the
// last one, so the rest was earned on that day, even if the end is heard of on the next.
void Lifecycle::settle(const db::Context& context, JobRow& job) const {
    JobLive& live = job.live;
    require(!live.is_settled, "a job is settled once");
    if (live.meter_started_at) {
        const Time last = live.reported_at.value();
        const Time earned = std::min(last, live.meter_stopped_at.value_or(last));
        capture_day(context, job, live.accepted_ms, next_midnight(earned));
    }
    const Micro unspent = ledger::release(context, job.terms.job_id);
    credits::give_back(context.tx, job.terms.job_id, unspent);
    accounts::give_back(context.tx, job.terms.job_id);
    live.is_settled = true;
    live.settled_at = context.now;
}

// The first report after a midnight tells how much had run by then.
void Lifecycle::settle_days(const db::Context& context, JobRow& job, const Report& report,
                            Time not_after, Stands stands) const {
    const Meter meter = meter_of(job);
    Time midnight = next_midnight(job.live.settled_at.value_or(meter.started_at));
    for (; midnight <= report.at; midnight = next_midnight(midnight)) {
        capture_day(context, job, accepted_by(meter, report, not_after, midnight, stands),
                    midnight);
        job.live.settled_at = midnight;
    }
}

// Posted before the midnight that ends the day, so that earnings fall on the day they were earned;
// they mature from now on, since nobody could dispute them before.
void Lifecycle::capture_day(const db::Context& context, const JobRow& job, std::int64_t runtime_ms,
                            Time midnight) const {
    const Time at = std::min(context.now, midnight - Duration(1));
    ledger::capture({context.tx, context.random, at}, job.terms.job_id,
                    {charge_of(terms_of(job), runtime_ms), runtime_ms, context.now});
}

void Lifecycle::free_machine(const db::Context& context, HeldJob& held, const Cause& cause) const {
    if (!held.has_machine()) return;
    machines::Machine& machine = *held.machine;
    const bool failed_start = held.job.live.state == JobState::FAILED && cause.blame == Blame::host;
    if (failed_start) ++machine.starts_failed;
    if (failed_start && machine.starts_failed >= failed_starts_max) {
        quarantine(context, held, machines::QuarantineCause::starts_failed);
        return;
    }
    // What waits for an agent that was never told of the job is taken back.
    if (!held.job.live.accepted_at)
        machines::cancel_commands(context.tx, machine.machine_id, held.job.terms.job_id);
    machines::apply(context, machine, machines::MachineEvent::job_over);
}

void Lifecycle::quarantine(const db::Context& context, HeldJob& held,
                           machines::QuarantineCause cause) const {
    held.job.live.clean_sent_at.reset();
    if (!held.has_machine()) return;
    const bool is_held_against = was_told(context.tx, held.job.terms, cause);
    machines::cancel_commands(context.tx, held.machine->machine_id, held.job.terms.job_id);
    machines::apply(context, *held.machine, machines::MachineEvent::quarantine,
                    {.cause = cause, .is_nobodys_fault = !is_held_against});
}

// A machine that was put aside is cleaned when its agent is back.
void Lifecycle::begin_cleaning(const db::Context& context, HeldJob& held) const {
    held.job.live.retrieval_until.reset();
    if (!held.has_machine() || held.machine->state == machines::MachineState::QUARANTINED) return;
    held.job.live.clean_sent_at = context.now;
    send_clean(context, *held.machine, held.job.terms.job_id);
}

bool Lifecycle::pass_time(const db::Context& context, HeldJob& held, Time up_since) const {
    bool happened = false;
    // What stood has moved the end of the funding, and may have become too long.
    look_at_carriage(context, held.job);
    for (int i = 0; i < events_at_once_max; ++i) {
        const auto due = next_due(held.job, up_since);
        if (!due || due->at > context.now) {
            held.job.live.deadline_at = due ? std::optional(due->at) : std::nullopt;
            save_job(context.tx, held.job.live);
            return happened;
        }
        happened = true;
        Cause cause{.at = due->at, .reason = std::string(enum_name(due->event))};
        if (due->event == Event::start_expired) {
            // What was never delivered is held against nobody.
            const bool is_hosts =
                held.job.terms.template_id.has_value() && is_delivered(context.tx, held.job);
            cause.blame = is_hosts ? Blame::host : Blame::nobody;
            cause.failure = {FailureCode::HOST_LOST, "The host did not take the job up in time."};
        }
        if (due->event == Event::start_overdue) {
            const bool in_progress =
                context.now - held.job.live.waiting_since < progress_expected_within;
            cause.blame = held.job.terms.template_id ? Blame::host : Blame::renter;
            cause.failure = overdue_start(context.tx, held.job.terms.job_id, in_progress);
        }
        if (due->event == Event::host_lost)
            cause.failure = {FailureCode::HOST_LOST, "Nothing was heard of the host any more."};
        if (due->event == Event::engine_failed)
            cause.failure = {FailureCode::PROBE_FAILED,
                             held.job.live.gpu_lost_at
                                 ? "A GPU of the host did not answer for five minutes."
                                 : "The engine did not answer for five minutes."};
        apply(context, held, due->event, cause);
    }
    save_job(context.tx, held.job.live);  // the rest comes with the next look
    return happened;
}

void Lifecycle::accept_usage(const db::Context& context, HeldJob& held, const Usage& usage) const {
    const JobTerms& terms = held.job.terms;
    const std::optional<Time> before = held.job.live.engine_down_at;
    count(context, held, usage);
    const std::optional<Time> after = held.job.live.engine_down_at;
    if (before.has_value() == after.has_value() || !is_metered(held.job.live.state)) return;
    events::tell(context, after ? rental_engine_down : rental_engine_up, terms.renter_id,
                 terms.job_id, SinceFacts{context.now});
}

void Lifecycle::count(const db::Context& context, HeldJob& held, const Usage& usage) const {
    JobLive& live = held.job.live;
    look_at_carriage(context, held.job);
    const Time started = live.meter_started_at.value();
    std::vector<Stand> stands;
    if (live.stood_ms > 0)
        stands = list_stands(context.tx, live.job_id, live.reported_at.value_or(started));
    const Time end = funded_through(terms_of(held.job), started, live.stood_ms).at;
    const Report report{.at = context.now,
                        .runtime_ms = usage.runtime_ms,
                        .engine = usage.engine,
                        .renews_lease = usage.renews_lease};
    settle_days(context, held.job, report, end, stands);
    const Meter meter = accept(meter_of(held.job), report, end, stands);
    live.accepted_ms = meter.accepted_ms;
    live.is_paid = live.is_paid || std::chrono::milliseconds(live.accepted_ms) >= billed_enough;
    live.reported_ms = meter.reported_ms;
    live.reported_at = meter.reported_at;
    live.carry_ms = meter.carry_ms;
    if (usage.engine == EngineStatus::down && !live.engine_down_at)
        live.engine_down_at = context.now;
    if (usage.engine == EngineStatus::up) live.engine_down_at.reset();
}

// The meter stands still as for an engine that is down, whose own word holds besides.
void Lifecycle::turn_gpus(const db::Context& context, HeldJob& held, bool lost) const {
    JobLive& live = held.job.live;
    if (live.gpu_lost_at.has_value() == lost) return;
    const auto engine_down_at = live.engine_down_at;
    count(context, held,
          {.runtime_ms = live.reported_ms, .engine = lost ? EngineStatus::down : EngineStatus::up});
    live.engine_down_at = engine_down_at;
    live.gpu_lost_at = lost ? std::optional(context.now) : std::nullopt;
    keep(context.tx, context.now, live, {.kind = lost ? "GPU_LOST" : "GPU_BACK", .payload = "{}"});
    events::tell(context, lost ? rental_gpu_lost : rental_gpu_back, held.job.terms.renter_id,
                 held.job.terms.job_id, SinceFacts{context.now});
}

agent_protocol::Lease lease_of(const JobRow& job) {
    return {.job_id = job.terms.job_id,
            .lease_seq = {job.live.lease_seq},
            .budget_version = {job.live.budget_version},
            .budget_micro = job.live.budget,
            .funded_through = funded_through(job),
            .expires_at = job.live.lease_until.value_or(job.terms.created_at)};
}

agent_protocol::Lease Lifecycle::grant(const db::Context& context, JobRow& job) const {
    ++job.live.lease_seq;
    job.live.lease_until = context.now + lease_lasts;
    return lease_of(job);
}

void Lifecycle::send_stop(const db::Context& context, const machines::Machine& machine, JobId job,
                          const std::string& reason, std::optional<std::int64_t> lease_seq) const {
    const agent_protocol::StopPayload payload{reason, {stop_grace_s}};
    commands_.queue(context, machine,
                    {.kind = machines::CommandKind::stop,
                     .payload = wire::encode(payload),
                     .lasts = stop_lasts,
                     .job_id = job,
                     .lease_seq = lease_seq});
}

void Lifecycle::send_clean(const db::Context& context, const machines::Machine& machine,
                           JobId job) const {
    commands_.queue(context, machine,
                    {.kind = machines::CommandKind::clean,
                     .payload = wire::encode(agent_protocol::CleanPayload{}),
                     .lasts = clean_lasts,
                     .job_id = job});
}

void Lifecycle::send_budget(const db::Context& context, const HeldJob& held) const {
    if (!held.has_machine()) return;
    const agent_protocol::BudgetPayload payload{
        {held.job.live.budget_version}, held.job.live.budget, funded_through(held.job)};
    commands_.queue(context, *held.machine,
                    {.kind = machines::CommandKind::budget,
                     .payload = wire::encode(payload),
                     .lasts = budget_lasts,
                     .job_id = held.job.terms.job_id});
}

}  // namespace berth::rentals
