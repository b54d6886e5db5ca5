// The routes of accounts, one declaration each.
#include "accounts/accounts.hpp"
#include "accounts/settings.hpp"

namespace berth::accounts {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Query;
using api::Router;
using api::StepUp;
using api::Work;

namespace {

const api::RateRule sign_in_rate{"sign-in", api::rate_setting<&Settings::rate_sign_in_per_hour>,
                                 std::chrono::hours(1), api::RateRule::By::address};
// Each is a mail to somebody who may be a stranger.
const api::RateRule new_email_rate{"new addresses",
                                   api::rate_setting<&Settings::rate_codes_per_hour>,
                                   std::chrono::hours(1), api::RateRule::By::account};
const api::DeclaredError email_stays{
    Code::conflict, "the account is frozen, or its address was changed three times in 30 days"};

}  // namespace

void Accounts::add_routes(Router& router) const {
    add_sign_in_routes(router);
    add_factor_routes(router);
    add_session_routes(router);
    add_mailbox_routes(router);
    add_key_routes(router);
    add_integration_routes(router);
}

void Accounts::add_sign_in_routes(Router& router) const {
    router.add(
        {.method = "POST",
         .path = "/api/v1/auth/email/start",
         .name = "start_sign_in",
         .group = "sign-in",
         .summary = "Mails a sign-in code and link to any address.",
         .access = Access::anyone,
         .work = Work::write,
         .status = 202,
         .errors = {{Code::forbidden, "the request comes from another site's page"}},
         .rate = &sign_in_rate,
         .body_bytes_max = api::registration_body_bytes_max},
        [this](Call& call, const Body<StartSignIn>& body) { return sign_in_.start(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/auth/email/verify",
                .name = "verify_sign_in",
                .group = "sign-in",
                .summary = "Opens a session for the holder of a code or link.",
                .access = Access::anyone,
                .work = Work::write,
                .errors = {{Code::authorization_invalid,
                            "the code or link is wrong, used or too old, or there were too many "
                            "wrong codes today"},
                           {Code::unauthenticated, "the account is suspended"},
                           {Code::forbidden,
                            "the market is closed, and the address is new and on no allow list"},
                           {Code::forbidden,
                            "an account that lost its mailbox is to be reached by this address"},
                           {Code::conflict, "the address of the account was just changed"},
                           {Code::forbidden, "the request comes from another site's page"}},
                .body_bytes_max = api::registration_body_bytes_max},
               [this](Call& call, const Body<VerifySignIn>& body) {
                   return sign_in_.verify(call, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/auth/mfa",
                .name = "give_second_factor",
                .group = "sign-in",
                .summary = "Completes a sign-in with the second factor.",
                .access = Access::any_session,
                .work = Work::write,
                .errors = {{Code::authorization_invalid,
                            "the code is wrong or was used, or there were too many wrong ones "
                            "today"},
                           {Code::conflict, "no second factor is awaited"}},
                .body_bytes_max = api::registration_body_bytes_max},
               [this](Call& call, const Body<SecondFactor>& body) {
                   return sign_in_.second_factor(call, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/auth/sign-out",
                .name = "sign_out",
                .group = "sign-in",
                .summary = "Ends the session.",
                .access = Access::any_session,
                .work = Work::write,
                .status = 204},
               [this](Call& call) { sign_in_.sign_out(call); });
    router.add({.method = "GET",
                .path = "/api/v1/auth/session",
                .name = "show_session",
                .group = "sign-in",
                .summary = "Who is calling, and with what.",
                .access = Access::signed_in},
               [this](Call& call) { return sign_in_.who_am_i(call); });
}

void Accounts::add_factor_routes(Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/account/mfa/totp",
                .name = "begin_totp",
                .group = "account",
                .summary = "Begins to enroll an authenticator.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .status = 201,
                .errors = {{Code::conflict, "an authenticator is enrolled already"}}},
               [this](Call& call) { return factors_.begin(call); });
    router.add({.method = "POST",
                .path = "/api/v1/account/mfa/totp/confirm",
                .name = "confirm_totp",
                .group = "account",
                .summary = "Turns the authenticator on and shows the recovery codes once.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .errors = {{Code::authorization_invalid, "the code is not the authenticator's"},
                           {Code::not_found, "there is no such enrollment, or it has expired"},
                           {Code::conflict, "an authenticator is enrolled already"}}},
               [this](Call& call, const Body<ConfirmTotp>& body) {
                   return sign_in_.confirm_totp(call, *body);
               });
    router.add({.method = "DELETE",
                .path = "/api/v1/account/mfa/totp",
                .name = "remove_totp",
                .group = "account",
                .summary = "Turns the authenticator off.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .status = 204,
                .errors = {{Code::not_found, "no authenticator is enrolled"}}},
               [this](Call& call) { factors_.disable(call); });
    router.add({.method = "POST",
                .path = "/api/v1/account/step-up/code",
                .name = "send_step_up_code",
                .group = "account",
                .summary = "Mails a step-up code to an account without an authenticator.",
                .access = Access::session,
                .work = Work::write,
                .status = 202,
                .errors = {{Code::conflict, "the account confirms with its authenticator"}}},
               [this](Call& call) { return sign_in_.send_step_up_code(call); });
}

void Accounts::add_session_routes(Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/account/sessions",
                .name = "list_sessions",
                .group = "account",
                .summary = "The account's open sessions, newest first.",
                .access = Access::session},
               [this](Call& call, const Query<api::PageQuery>& query) {
                   return sessions_.list(call, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/account/sessions/revoke",
                .name = "revoke_sessions",
                .group = "account",
                .summary = "Ends every session of the account, this one too.",
                .access = Access::session,
                .work = Work::write,
                .status = 204},
               [this](Call& call) { sign_in_.revoke_sessions(call); });
    router.add({.method = "DELETE",
                .path = "/api/v1/account/sessions/{id}",
                .name = "revoke_session",
                .group = "account",
                .summary = "Ends one session of the account.",
                .access = Access::session,
                .work = Work::write,
                .status = 204,
                .errors = {{Code::not_found, "the account has no such session"}}},
               [this](Call& call, const Path<SessionPath>& path) {
                   sign_in_.revoke_session(call, path->id);
               });
}

void Accounts::add_mailbox_routes(Router& router) const {
    router.add(
        {.method = "POST",
         .path = "/api/v1/account/email",
         .name = "ask_new_email",
         .group = "account",
         .summary = "Mails a code to the address that the account is to sign in by.",
         .access = Access::session,
         .work = Work::write,
         .step_up = StepUp::account_sensitive,
         .status = 202,
         .errors = {{Code::conflict, "the account signs in by this address already"}, email_stays},
         .rate = &new_email_rate},
        [this](Call& call, const Body<NewEmail>& body) { return mailboxes_.ask(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/account/email/confirm",
                .name = "confirm_new_email",
                .group = "account",
                .summary = "Signs in by another address from now on; other sessions end.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .errors = {{Code::authorization_invalid,
                            "the code is wrong, used or too old, or there were too many wrong "
                            "codes today"},
                           {Code::conflict, "the address has an account of its own by now"},
                           email_stays}},
               [this](Call& call, const Body<ConfirmEmail>& body) {
                   return mailboxes_.confirm(call, *body);
               });
}

void Accounts::add_key_routes(Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/account/api-keys",
                .name = "create_api_key",
                .group = "account",
                .summary = "Makes an API key; its secret is shown once.",
                .access = Access::self,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .idempotent = true,
                .status = 201},
               [this](Call& call, const Body<NewKey>& body) { return keys_.create(call, *body); });
    router.add({.method = "GET",
                .path = "/api/v1/account/api-keys",
                .name = "list_api_keys",
                .group = "account",
                .summary = "The account's active keys, newest first."},
               [this](Call& call, const Query<api::PageQuery>& query) {
                   return keys_.show(call, *query);
               });
    router.add({.method = "DELETE",
                .path = "/api/v1/account/api-keys/{id}",
                .name = "revoke_api_key",
                .group = "account",
                .summary = "Revokes a key at once.",
                .access = Access::self,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .idempotent = true,
                .status = 204,
                .errors = {{Code::not_found, "the account has no such key"}}},
               [this](Call& call, const Path<KeyPath>& path) { keys_.remove(call, path->id); });
}

void Accounts::add_integration_routes(Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/account/integrations/{provider}",
                .name = "show_integration",
                .group = "account",
                .summary = "Whether a token of the model hub is on file; never the token.",
                .errors = {{Code::not_found, "there is no such provider"}}},
               [this](Call& call, const Path<ProviderPath>& path) {
                   return integrations_.show(call, *path);
               });
    router.add({.method = "PUT",
                .path = "/api/v1/account/integrations/{provider}",
                .name = "put_integration",
                .group = "account",
                .summary = "Leaves a token of the model hub, sealed.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .errors = {{Code::not_found, "there is no such provider"}}},
               [this](Call& call, const Path<ProviderPath>& path, const Body<HubToken>& body) {
                   return integrations_.put(call, *path, *body);
               });
    router.add(
        {.method = "DELETE",
         .path = "/api/v1/account/integrations/{provider}",
         .name = "delete_integration",
         .group = "account",
         .summary = "Forgets the token of the model hub.",
         .access = Access::renter,
         .work = Work::write,
         .idempotent = true,
         .status = 204,
         .errors = {{Code::not_found, "there is no such provider"}}},
        [this](Call& call, const Path<ProviderPath>& path) { integrations_.remove(call, *path); });
}

}  // namespace berth::accounts
