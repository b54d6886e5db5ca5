#include "rentals/told.hpp"

#include <algorithm>

#include "base/money.hpp"
#include "rentals/deadlines.hpp"
#include "rentals/lifecycle.hpp"

namespace berth::rentals {
namespace {

using enum JobState;

struct Silent {
    JobState from;
    Event event;
};
constexpr Silent silent_lines[] = {
    {STARTING, Event::ready},          // RUNNING follows in the same transaction
    {STOPPED, Event::retrieval_over},  // its time was told when it stopped
    {FAILED, Event::cleaned},          // of a machine that is no longer the renter's
    {FAILED, Event::clean_overdue},   {CLOSED, Event::cleaned},
};

const RentalKind& kind_of(JobState state) {
    switch (state) {
        case RESERVED: return rental_reserved;
        case STARTING: return rental_starting;
        case READY:
        case RUNNING: return rental_running;
        case STOPPING: return rental_stopping;
        case STOPPED: return rental_stopped;
        case FAILED: return rental_failed;
        case CLOSED: break;
    }
    return rental_closed;
}

RentalFacts facts_of(const JobRow& job) {
    const JobLive& live = job.live;
    RentalFacts facts;
    facts.state = live.state;
    facts.machine_id = job.terms.machine_id;
    facts.end_reason = live.end_reason;
    facts.budget_micro = live.budget;
    facts.budget_version = {live.budget_version};
    facts.cumulative_charge_micro = charge_of(job);
    facts.accepted_runtime_ms = {live.accepted_ms};
    facts.meter_started_at = live.meter_started_at;
    facts.meter_stopped_at = live.meter_stopped_at;
    facts.funded_through = funded_through(job);
    facts.retrieval_until = live.retrieval_until;
    return facts;
}

std::optional<Failure> in_brief(const std::optional<Failure>& failure) {
    if (!failure) return std::nullopt;
    return Failure{failure->code, events::in_brief(failure->message)};
}

// The ledger reckons the fee by the same formula, over the whole charge.
HostingFacts hosting_facts_of(const JobRow& job, const Happened& happened) {
    const Micro charge = charge_of(job);
    const bool is_ready = job.live.meter_started_at.has_value();
    return {.machine_id = job.terms.machine_id,
            .job_id = job.terms.job_id,
            .state = job.live.state,
            .end_reason = job.live.end_reason,
            .ready = is_ready,
            .billed_ms = {job.live.accepted_ms},
            .earned_micro = charge - scale_floor(charge, {job.terms.fee_bps, 10'000}),
            .failure = is_ready ? std::nullopt : in_brief(happened.failure)};
}

void tell_funds_low(const db::Context& context, const JobRow& job) {
    const auto end = funded_through(job);
    const Duration left = end ? std::max(*end - context.now, Duration{}) : Duration{};
    events::tell(
        context, rental_funds_low, job.terms.renter_id, job.terms.job_id,
        FundsLowFacts{
            {left / std::chrono::seconds(1)}, end, job.live.budget, {job.live.budget_version}});
}

}  // namespace

std::vector<events::DeclaredKind> event_kinds() {
    return {rental_reserved,  rental_starting,      rental_running,    rental_stopping,
            rental_stopped,   rental_failed,        rental_closed,     rental_preemption_noticed,
            rental_funds_low, rental_engine_down,   rental_engine_up,  rental_gpu_lost,
            rental_gpu_back,  rental_budget_raised, rental_egress_low, rental_unreachable,
            rental_reachable, rental_uncarried,     rental_carried,    hosting_started,
            hosting_ended};
}

Tells told_by(const Transition& line) {
    Tells tells;
    if (line.event == Event::preempt_notice)
        tells.renter = TellRenter::preemption;
    else if (line.event == Event::funds_low)
        tells.renter = TellRenter::funds_low;
    else if (line.from != line.to && line.to != READY)
        tells.renter = TellRenter::state;
    tells.host_started = line.to == RUNNING && line.from != RUNNING;
    tells.host_ended = !is_over(line.from) && is_over(line.to);
    return tells;
}

bool is_silent(const Transition& line) {
    return std::any_of(std::begin(silent_lines), std::end(silent_lines), [&](const Silent& each) {
        return each.from == line.from && each.event == line.event;
    });
}

void tell(const db::Context& context, const JobRow& job, const Happened& happened) {
    const Tells tells = told_by(happened.line);
    const JobTerms& terms = job.terms;
    switch (tells.renter) {
        case TellRenter::nothing: break;
        case TellRenter::state: {
            RentalFacts facts = facts_of(job);
            facts.failure = in_brief(happened.failure);
            facts.time_to_ready = happened.took;
            events::tell(context, kind_of(happened.line.to), terms.renter_id, terms.job_id, facts);
            break;
        }
        case TellRenter::preemption:
            events::tell(
                context, rental_preemption_noticed, terms.renter_id, terms.job_id,
                PreemptionFacts{job.live.notice_at.value(), job.live.notice_until.value()});
            break;
        case TellRenter::funds_low: tell_funds_low(context, job); break;
    }
    if (tells.host_started)
        events::tell(context, hosting_started, terms.host_id, terms.job_id,
                     hosting_facts_of(job, happened));
    if (tells.host_ended)
        events::tell(context, hosting_ended, terms.host_id, terms.job_id,
                     hosting_facts_of(job, happened));
}

void tell_reserved(const db::Context& context, const JobRow& job) {
    events::tell(context, rental_reserved, job.terms.renter_id, job.terms.job_id, facts_of(job));
}

void tell_of_reach(const db::Context& context, const machines::Silence& silence,
                   const events::Kind<SinceFacts>& kind) {
    if (!silence.machine.job_id) return;
    const auto job = find_job(context.tx, *silence.machine.job_id);
    // Of a rental that began after the silence was noted nobody was told that it is out of reach.
    if (!job || !is_metered(job->live.state) ||
        job->live.meter_started_at.value() > silence.noted_at)
        return;
    events::tell(context, kind, job->terms.renter_id, job->terms.job_id,
                 SinceFacts{silence.last_healthy_at});
}

}  // namespace berth::rentals
