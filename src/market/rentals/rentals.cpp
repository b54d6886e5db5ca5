#include "rentals/rentals.hpp"

#include <algorithm>

#include "base/redaction.hpp"
#include "rentals/carriage.hpp"
#include "wire/wire.hpp"

namespace berth::rentals {
namespace {

constexpr Duration quotes_kept = std::chrono::hours(24 * 7);
constexpr Duration starts_looked_at = std::chrono::hours(24 * 30);
constexpr std::size_t starts_min = 5;
constexpr std::int64_t starts_max = 1000;  // the newest

std::vector<PastJob> told_to_host(db::Transaction& tx, const std::vector<JobRow>& jobs) {
    std::vector<PastJob> list;
    for (const JobRow& job : jobs) {
        const JobDetails details = find_details(tx, job.terms.job_id);
        std::optional<Failure> failure;
        if (details.failure_code)
            failure = Failure{*details.failure_code, details.failure_message.value_or("")};
        list.push_back({.job_id = job.terms.job_id,
                        .machine_id = job.terms.machine_id,
                        .state = job.live.state,
                        .started_at = job.live.meter_started_at.value_or(job.terms.created_at),
                        .ended_at = job.live.ended_at,
                        .end_reason = job.live.end_reason,
                        .rate_per_hour = job.terms.rate,
                        .ready = job.live.meter_started_at.has_value(),
                        .billed_ms = job.live.accepted_ms,
                        .failure = std::move(failure),
                        .clean_error = details.clean_error});
    }
    return list;
}

}  // namespace

Rentals::Rentals(const Parts& parts)
    : lifecycle_(parts.commands),
      strays_(lifecycle_),
      prober_(parts.client, parts.reach, parts.own_listeners),
      host_agent_side_({lifecycle_, parts.prober != nullptr ? *parts.prober : prober_, parts.sealer,
                        strays_, parts.engine_tls}),
      quotes_({lifecycle_, parts.sealer, parts.integrations}),
      jobs_(lifecycle_, parts.sealer),
      operators_(lifecycle_) {}

void Rentals::add_routes(api::Router& router) const {
    quotes_.add_routes(router);
    jobs_.add_routes(router);
    operators_.add_routes(router);
}

std::optional<Time> Rentals::promised_until(db::Transaction& tx,
                                            const machines::Machine& machine) const {
    if (!machine.job_id) return std::nullopt;
    const auto job = find_job(tx, *machine.job_id);
    if (!job || is_over(job->live.state)) return std::nullopt;
    const std::chrono::seconds runs(job->terms.duration_limit_s);
    const std::chrono::seconds starts(job->terms.start_deadline_s);
    const Time latest = job->live.meter_started_at ? *job->live.meter_started_at + runs
                                                   : job->terms.created_at + starts + runs;
    return std::min(latest, job->terms.available_until);
}

void Rentals::custom_images_off(const db::Context& context, machines::Machine& machine) const {
    if (!machine.job_id) return;
    auto job = lock_job(context.tx, *machine.job_id);
    if (!job || job->terms.template_id || !is_before_ready(job->live.state)) return;
    HeldJob held{std::move(*job), machine};
    lifecycle_.apply(context, held, Event::custom_images_off,
                     {.at = context.now, .reason = "custom_images_off"});
    machine = std::move(*held.machine);
}

void Rentals::put_aside(const db::Context& context, machines::Machine& machine) const {
    if (!machine.job_id) return;
    auto job = lock_job(context.tx, *machine.job_id);
    if (!job) return;
    HeldJob held{std::move(*job), machine};
    JobLive& live = held.job.live;
    if (is_before_ready(live.state) || is_metered(live.state)) {
        lifecycle_.apply(context, held, Event::operator_stop,
                         {.at = context.now, .reason = "operator_stop"});
    } else if (live.state == JobState::STOPPING) {
        // What it was told before is of an older fence, under which an agent does nothing.
        lifecycle_.send_stop(context, machine, live.job_id, "operator_stop", live.lease_seq);
    } else {
        live.retrieval_until.reset();
        live.clean_sent_at.reset();
        save(context, held.job);
        if (live.state == JobState::STOPPED)
            lifecycle_.apply(context, held, Event::quarantined, {.at = context.now});
    }
    machine = std::move(*held.machine);
}

Rentals::Notice Rentals::give_notice(const db::Context& context, machines::Machine& machine,
                                     const std::string& reason) const {
    auto job = machine.job_id ? lock_job(context.tx, *machine.job_id) : std::nullopt;
    if (!job || is_over(job->live.state))
        throw Problem(Code::conflict, "no rental runs on this machine");
    if (job->terms.availability_class != AvailabilityClass::interruptible)
        throw Problem(Code::conflict, "the rental is dedicated: it is never taken back");
    if (job->live.notice_at) throw Problem(Code::conflict, "the rental has its notice already");
    HeldJob held{std::move(*job), machine};
    agent_protocol::PreemptNoticeEvidence notice;
    notice.reason.emplace(agent_protocol::HostText{without_unnamed_secrets(reason)});
    keep(context.tx, context.now, held.job.live,
         {.kind = std::string(enum_name(agent_protocol::JobEventKind::preempt_notice)),
          .payload = wire::encode(notice)});
    lifecycle_.apply(context, held, Event::preempt_notice, {.at = context.now});
    machine = std::move(*held.machine);
    const JobLive& live = held.job.live;
    return {live.job_id, live.notice_at.value(), live.notice_until.value()};
}

void note_start(db::Database& database, Time now) {
    if (database.engine() != db::Engine::sqlite) return;
    database.write([&](db::Transaction& tx) { note_listening(tx, now, Duration{}); });
}

std::optional<TimeToReady> usual_start(db::Transaction& tx, TemplateId id, Time now) {
    const auto starts = list_starts(tx, id, now - starts_looked_at, starts_max);
    if (starts.size() < starts_min) return std::nullopt;
    const auto median = [&](std::int64_t StartRow::*part) {
        std::vector<std::int64_t> times;
        for (const StartRow& start : starts) times.push_back(start.*part);
        std::sort(times.begin(), times.end());
        const std::int64_t upper = times[times.size() / 2];
        const std::int64_t lower = times[(times.size() - 1) / 2];
        return Decimal{lower + (upper - lower) / 2};
    };
    return TimeToReady{median(&StartRow::pull_ms), median(&StartRow::load_ms),
                       median(&StartRow::probe_ms)};
}

std::optional<JobSummary> find_summary(db::Transaction& tx, JobId id, Time now) {
    auto job = find_job(tx, id);
    if (!job) return std::nullopt;
    job = seen_with_carriage(tx, std::move(*job), now);
    JobSummary summary{job->live.state, job->live.accepted_ms, charge_of(*job),
                       job->live.evidence_head};
    if (job->terms.is_by_gate()) summary.uncarried_ms = job->live.stood_ms;
    summary.carried_bytes = find_carried_bytes(tx, job->terms);
    return summary;
}

std::optional<gates::PlacedJob> find_placed(db::Transaction& tx, JobId id) {
    const auto job = find_job(tx, id);
    if (!job) return std::nullopt;
    return gates::PlacedJob{job->terms.renter_id,
                            job->terms.reach.value_or(agent_protocol::Reach::direct)};
}

std::optional<std::int64_t> carried_bytes_of(db::Transaction& tx, JobId id) {
    const auto job = find_job(tx, id);
    return job ? find_carried_bytes(tx, job->terms) : std::nullopt;
}

std::vector<PastJob> past_jobs(db::Transaction& tx, MachineId machine, std::int64_t rows_max) {
    return told_to_host(tx, list_machine_jobs(tx, machine, rows_max));
}

std::vector<PastJob> past_jobs(db::Transaction& tx, const HostJobs& asked, std::int64_t rows_max) {
    return told_to_host(tx, list_jobs_like(tx, {.host = asked.host, .machine = asked.machine},
                                           asked.before, rows_max));
}

std::int64_t prune_old_quotes(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return prune_quotes(tx, now - quotes_kept, rows_max);
}

std::int64_t prune_old_strays(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return prune_strays(tx, now - strays_kept, rows_max);
}

std::int64_t prune_old_evidence(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return prune_evidence(tx, now - evidence_kept, rows_max);
}

}  // namespace berth::rentals
