// The routes of closing, one declaration each.
#include "closing/closing.hpp"
#include "closing/settings.hpp"
#include "four_eyes/four_eyes.hpp"

namespace berth::closing {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::StepUp;
using api::Work;

namespace {

// An export reads everything there is.
const api::RateRule export_rate{"exports", api::rate_setting<&Settings::rate_exports_per_hour>,
                                std::chrono::hours(1), api::RateRule::By::account};

}  // namespace

void Closing::add_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/account/closing",
                .name = "show_closing",
                .group = "account",
                .summary = "What stands in the way of closing the account, and what would stay.",
                .access = Access::self},
               [this](Call& call) { return state(call, call.caller.account); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/account/close",
         .name = "close_account",
         .group = "account",
         .summary = "Closes the account, which must be empty; also forgets its owner later.",
         .access = Access::self,
         .work = Work::write,
         .step_up = StepUp::account_sensitive,
         .idempotent = true,
         .errors = {{Code::conflict, "something is in the account or on its way"},
                    {Code::stale_version, "an operator changed it at the same moment"}}},
        [this](Call& call, const Body<CloseAccount>& body) { return close_own(call, *body); });
    router.add({.method = "GET",
                .path = "/api/v1/account/export",
                .name = "export_account",
                .group = "account",
                .summary = "Everything about the account, as one JSON document.",
                .access = Access::self,
                .step_up = StepUp::account_sensitive,
                .rate = &export_rate},
               [this, &router](Call& call) { return export_own(call, router); });
    add_operator_routes(router);
}

void Closing::add_operator_routes(api::Router& router) const {
    const std::vector<api::DeclaredError> errors{
        Code::not_found,
        {Code::stale_version, "the account is at another version"},
        {Code::conflict, "something is in the account, or it is closed, open or erased already"}};
    router.add({.method = "GET",
                .path = "/api/v1/admin/users/{id}/closing",
                .name = "show_user_closing",
                .group = "admin",
                .summary = "Whether an account is closed, and what stands in the way of it.",
                .access = Access::operator_,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<UserPath>& path) {
                   const auto id = parse_uuid(path->id);
                   if (!id || !accounts::find_record(call.tx(), AccountId{*id}))
                       throw Problem(Code::not_found, "no such user");
                   return state(call, AccountId{*id});
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/users/{id}/close",
                .name = "close_user",
                .group = "admin",
                .summary = "Closes an account that is empty.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = errors},
               [this](Call& call, const Path<UserPath>& path, const Body<CloseUser>& body) {
                   return close(call, *path, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/users/{id}/reopen",
                .name = "reopen_user",
                .group = "admin",
                .summary = "Opens a closed account again.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = errors},
               [this](Call& call, const Path<UserPath>& path, const Body<ClosingDecision>& body) {
                   return reopen(call, *path, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/users/{id}/erase",
                .name = "erase_user",
                .group = "admin",
                .summary = "Forgets the owner of a closed account, now and for good.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = errors},
               [this](Call& call, const Path<UserPath>& path, const Body<ClosingDecision>& body) {
                   return erase(call, *path, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/users/{id}/export",
                .name = "export_user",
                .group = "admin",
                .summary = "Everything about one account, as one JSON document.",
                .access = Access::admin,
                .step_up = StepUp::admin_sensitive,
                .errors = {Code::not_found}},
               [this, &router](Call& call, const Path<UserPath>& path) {
                   return export_user(call, router, *path);
               });
}

}  // namespace berth::closing
