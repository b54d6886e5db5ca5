#include "rentals/operators.hpp"

#include "audit/audit.hpp"
#include "base/redaction.hpp"
#include "rentals/carriage.hpp"
#include "rentals/jobs.hpp"
#include "wire/wire.hpp"

namespace berth::rentals {
namespace {

std::string text_of(const auto& id) { return id ? to_string(*id) : ""; }

}  // namespace

api::Page<Job> Operators::list(api::Call& call, const AdminJobsQuery& query) const {
    const std::string filters = std::string(query.state ? enum_name(*query.state) : "") + "/" +
                                text_of(query.renter) + "/" + text_of(query.host) + "/" +
                                text_of(query.machine);
    const api::Pager pager(call.cursors, {"operators' jobs", filters}, query);
    const auto rows = list_jobs_like(call.tx(),
                                     {.state = query.state,
                                      .renter = query.renter,
                                      .host = query.host,
                                      .machine = query.machine},
                                     pager.after_id<JobId>(), pager.rows_wanted());
    const Present present{call.now, up_since(call.tx())};
    return pager.page(
        rows, [](const JobRow& row) { return row.terms.job_id; },
        [&](const JobRow& row) {
            Job job = shown(seen_with_carriage(call.tx(), row, call.now),
                            find_details(call.tx(), row.terms.job_id), present);
            job.renter_id = row.terms.renter_id;
            job.host_id = row.terms.host_id;
            return job;
        });
}

// Keeps: a job is settled once, by the table of states, whoever stops it and however often.
JobAccepted Operators::stop(api::Call& call, const JobPath& path,
                            const OperatorStop& request) const {
    auto held = hold_job(call.tx(), path.id);
    if (!held) throw Problem(Code::not_found, "no such job");
    call.require_step_up();
    const JobState before = held->job.live.state;
    if (!is_before_ready(before) && !is_metered(before)) return {path.id, before};
    OperatorStop kept = request;  // renter and host read it
    kept.reason.value = without_unnamed_secrets(request.reason.value);
    keep(call.tx(), call.now, held->job.live,
         {.kind = "OPERATOR_STOP", .payload = wire::encode(kept)});
    lifecycle_.apply(call.context(), *held, Event::operator_stop,
                     {.at = call.now, .reason = "operator_stop"});
    const JobState after = held->job.live.state;
    audit::record(
        call.context(),
        {.actor = audit::Actor::of(call.caller.account),
         .action = "stop_job",
         .target = {"job", to_string(path.id)},
         .reason = request.reason.value,
         .changes = {{"state", std::string(enum_name(before)), std::string(enum_name(after))}},
         .request = call.request_id});
    return {path.id, after};
}

void Operators::add_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/admin/jobs",
                .name = "list_all_jobs",
                .group = "admin",
                .summary = "Jobs of all accounts, newest first.",
                .access = api::Access::admin},
               [this](api::Call& call, const api::Query<AdminJobsQuery>& query) {
                   return list(call, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/jobs/{id}/stop",
                .name = "stop_any_job",
                .group = "admin",
                .summary = "Stops a job; what has run is charged, the rest of the hold comes back.",
                .access = api::Access::admin,
                .work = api::Work::write,
                .step_up = api::StepUp::admin_sensitive,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found}},
               [this](api::Call& call, const api::Path<JobPath>& path,
                      const api::Body<OperatorStop>& body) { return stop(call, *path, *body); });
}

}  // namespace berth::rentals
