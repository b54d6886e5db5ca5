// The routes of accounts, one declaration each.
#include "admin/users.hpp"
#include "four_eyes/four_eyes.hpp"

namespace berth::admin {

void Users::add_routes(api::Router& router) const {
    using api::Access;
    router.add({.method = "GET",
                .path = "/api/v1/admin/users",
                .name = "list_users",
                .group = "admin",
                .summary = "Accounts, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<UsersQuery>& query) {
                   return list(call, *query);
               });
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/users/{id}",
         .name = "show_user",
         .group = "admin",
         .summary = "One account, with its version, balances and all that belongs to it.",
         .access = Access::operator_,
         .errors = {Code::not_found}},
        [this](api::Call& call, const api::Path<UserPath>& path) { return show(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/users/{id}/actions",
                .name = "act_on_user",
                .group = "admin",
                .summary = "Changes what an account may do. No command changes a balance.",
                .access = Access::admin,
                .work = api::Work::write,
                .step_up = api::StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = {Code::not_found,
                           {Code::stale_version, "the account is at another version"},
                           {Code::conflict, "no admin would be left"},
                           {Code::conflict, "an agent would become an admin"},
                           {Code::conflict, "the account is closed"}}},
               [this](api::Call& call, const api::Path<UserPath>& path,
                      const api::Body<UserAction>& body) { return act(call, *path, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/users/{id}/actions/preview",
                .name = "preview_user_action",
                .group = "admin",
                .summary = "What such a command would end and stop; changes nothing.",
                .access = Access::admin,
                .work = api::Work::rehearse,
                .errors = {Code::not_found}},
               [this](api::Call& call, const api::Path<UserPath>& path,
                      const api::Body<UserAction>& body) { return preview(call, *path, *body); });
    router.add(
        {.method = "PUT",
         .path = "/api/v1/admin/users/{id}/desk-role",
         .name = "set_desk_role",
         .group = "admin",
         .summary = "Makes an account an operator for support or finance, or ends that.",
         .access = Access::admin,
         .work = api::Work::write,
         .step_up = api::StepUp::admin_sensitive,
         .idempotent = true,
         .deferral = four_eyes::waits,
         .errors = {Code::not_found,
                    {Code::stale_version, "the account is at another version"},
                    {Code::conflict, "it is an agent's, or an admin's already"}}},
        [this](api::Call& call, const api::Path<UserPath>& path,
               const api::Body<SetDeskRole>& body) { return set_desk_role(call, *path, *body); });
    add_guarding_routes(router);
}

// What protects an account, or its owner from it, without locking anybody out.
void Users::add_guarding_routes(api::Router& router) const {
    router.add({.method = "PUT",
                .path = "/api/v1/admin/users/{id}/freeze",
                .name = "set_freeze",
                .group = "admin",
                .summary = "Stops all that leaves an account, and new rentals, or lets it go on.",
                .access = api::Access::finance,
                .work = api::Work::write,
                .step_up = api::StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = {Code::not_found,
                           {Code::stale_version, "the account is at another version"},
                           {Code::forbidden,
                            "it would end the freeze of the caller's own account, or one of "
                            "somebody else without a second admin"}}},
               [this](api::Call& call, const api::Path<UserPath>& path,
                      const api::Body<SetFreeze>& body) { return set_freeze(call, *path, *body); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/users/{id}/revoke-keys",
         .name = "revoke_keys",
         .group = "admin",
         .summary = "Ends every API key of an account, or one of them.",
         .access = api::Access::admin,
         .work = api::Work::write,
         .step_up = api::StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {{Code::not_found, "no such account, or no such key that is good"},
                    {Code::stale_version, "the account is at another version"}}},
        [this](api::Call& call, const api::Path<UserPath>& path,
               const api::Body<RevokeKeys>& body) { return revoke_keys(call, *path, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/users/{id}/notes",
                .name = "add_user_note",
                .group = "admin",
                .summary = "Writes down what other operators should know of an account.",
                .access = api::Access::operator_,
                .work = api::Work::write,
                .step_up = api::StepUp::admin_sensitive,
                .idempotent = true,
                .status = 201,
                .errors = {Code::not_found, {Code::conflict, "the account has as many as it can"}}},
               [this](api::Call& call, const api::Path<UserPath>& path,
                      const api::Body<NewNote>& body) { return write_note(call, *path, *body); });
}

}  // namespace berth::admin
