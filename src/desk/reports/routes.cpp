// The routes of reports, one declaration each. Every one of them gives CSV to whoever accepts it.
#include "reports/reports.hpp"
#include "reports/settings.hpp"

namespace berth::reports {

using api::Access;
using api::Call;
using api::Path;
using api::Query;

namespace {

// A statement reads all that an account ever did.
const api::RateRule statement_rate{"statements",
                                   api::rate_setting<&Settings::rate_statements_per_hour>,
                                   std::chrono::hours(1), api::RateRule::By::account};

}  // namespace

void Reports::add_routes(api::Router& router) const {
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/reports/figures",
         .name = "report_figures",
         .group = "reports",
         .summary = "Volume, fees, payouts and gas of the service, by day or month.",
         .access = Access::finance,
         .csv = "rows"},
        [this](Call& call, const Query<FiguresQuery>& query) { return figures(call, *query); });
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/reports/trial",
         .name = "report_trial_balance",
         .group = "reports",
         .summary = "Debits and credits of every pocket of the books.",
         .access = Access::finance,
         .csv = "rows"},
        [this](Call& call, const Query<TrialQuery>& query) { return trial_balance(call, *query); });
    router.add({.method = "GET",
                .path = "/api/v1/admin/reports/host-earnings",
                .name = "report_host_earnings",
                .group = "reports",
                .summary = "What each host earned and was paid in a year.",
                .access = Access::finance,
                .csv = "items"},
               [this](Call& call, const Query<HostsQuery>& query) { return hosts(call, *query); });
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/users/{id}/statement",
         .name = "show_user_statement",
         .group = "reports",
         .summary = "The statement of one account for any time.",
         .access = Access::finance,
         .csv = "entries",
         .errors = {Code::not_found}},
        [this](Call& call, const Path<AccountPath>& path, const Query<StatementQuery>& query) {
            return statement_of(call, *path, *query);
        });
    router.add(
        {.method = "GET",
         .path = "/api/v1/billing/statement",
         .name = "show_statement",
         .group = "billing",
         .summary = "The account's statement for any time, with opening and closing balance.",
         .access = Access::participant,
         .csv = "entries",
         .rate = &statement_rate},
        [this](Call& call, const Query<StatementQuery>& query) {
            return statement(call, call.caller.account, *query);
        });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/earnings/years/{year}",
                .name = "show_earnings_year",
                .group = "hosts",
                .summary = "What a host earned in a year, month by month.",
                .access = Access::host,
                .csv = "months",
                .rate = &statement_rate},
               [this](Call& call, const Path<YearPath>& path, const Query<YearQuery>& query) {
                   return year(call, *path, *query);
               });
}

}  // namespace berth::reports
