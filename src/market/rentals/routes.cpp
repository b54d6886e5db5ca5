// The routes of quotes and jobs, one declaration each.
#include "rentals/jobs.hpp"
#include "rentals/quotes.hpp"
#include "rentals/settings.hpp"

namespace berth::rentals {

using api::Access;
using api::Body;
using api::Call;
using api::PageQuery;
using api::Path;
using api::Query;
using api::Router;
using api::Work;

namespace {

const api::RateRule quote_rate{"quotes", api::rate_setting<&Settings::rate_quotes_per_minute>,
                               std::chrono::minutes(1), api::RateRule::By::account};

}  // namespace

void Quotes::add_routes(Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/quotes",
                .name = "create_quote",
                .group = "jobs",
                .summary = "What a rental of this offer would cost; holds nothing.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 201,
                .second_status = 200,
                .errors = {Code::admission_paused,
                           {Code::not_found, "no such offer or template"},
                           {Code::forbidden, "the policy of the key refuses it"},
                           {Code::conflict, "an operator has frozen the account"},
                           {Code::conflict, "the machine is not available"},
                           {Code::conflict, "the machine takes no images of renters' own"}},
                .rate = &quote_rate},
               [this](Call& call, const Query<QuoteQuery>& query, const Body<NewQuote>& body) {
                   return create(call, *body, query->dry_run.value_or(false));
               });
    router.add({.method = "POST",
                .path = "/api/v1/jobs",
                .name = "create_job",
                .group = "jobs",
                .summary = "Reserves the machine of a quote and holds the budget.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::admission_paused,
                           Code::not_found,
                           Code::quote_expired,
                           {Code::forbidden, "the policy of the key refuses it"},
                           {Code::conflict, "an operator has frozen the account"},
                           {Code::conflict, "the machine is not available any more"},
                           {Code::conflict, "the machine is the caller's own"},
                           {Code::conflict, "too many jobs of the account are starting"},
                           Code::insufficient_funds}},
               [this](Call& call, const Body<NewJob>& body) { return reserve(call, *body); });
}

void Jobs::add_routes(Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/jobs",
                .name = "list_jobs",
                .group = "jobs",
                .summary = "The account's jobs, newest first; an admin reads all.",
                .access = Access::renter},
               [this](Call& call, const Query<JobsQuery>& query) { return list(call, *query); });
    router.add({.method = "GET",
                .path = "/api/v1/jobs/{id}",
                .name = "show_job",
                .group = "jobs",
                .summary = "A job as it stands.",
                .access = Access::renter,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<JobPath>& path) { return show(call, *path); });
    router.add({.method = "GET",
                .path = "/api/v1/jobs/{id}/access",
                .name = "show_job_access",
                .group = "jobs",
                .summary = "How to reach what runs.",
                .access = Access::renter,
                .errors = {Code::not_found,
                           {Code::conflict, "the job is not running yet, or never did"},
                           {Code::forbidden, "there is no way in any more"}}},
               [this](Call& call, const Path<JobPath>& path) { return access(call, *path); });
    router.add({.method = "GET",
                .path = "/api/v1/jobs/{id}/logs",
                .name = "show_job_logs",
                .group = "jobs",
                .summary = "The last lines that the host sent of its log.",
                .access = Access::renter,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<JobPath>& path) { return logs(call, *path); });
    router.add({.method = "GET",
                .path = "/api/v1/jobs/{id}/evidence",
                .name = "list_job_evidence",
                .group = "jobs",
                .summary = "Everything that was said and done about a job, oldest first, signed "
                           "and chained.",
                .access = Access::participant,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<JobPath>& path, const Query<PageQuery>& query) {
                   return evidence(call, *path, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/jobs/{id}/stop",
                .name = "stop_job",
                .group = "jobs",
                .summary = "Ends a job; again is harmless.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<JobPath>& path, const Body<StopJob>& body) {
                   return stop(call, *path, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/jobs/{id}/budget",
                .name = "raise_budget",
                .group = "jobs",
                .summary = "Holds more for a job, so that it can run longer.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::admission_paused,
                           Code::not_found,
                           {Code::forbidden, "the policy of the key refuses it"},
                           {Code::stop_irreversible, "the job is being stopped, or was"},
                           {Code::conflict, "an operator has frozen the account"},
                           {Code::conflict, "the host takes the machine back"},
                           Code::version_conflict,
                           Code::insufficient_funds},
                .siblings = {current_budget}},
               [this](Call& call, const Path<JobPath>& path, const Body<RaiseBudget>& body) {
                   return raise_budget(call, *path, *body);
               });
}

}  // namespace berth::rentals
