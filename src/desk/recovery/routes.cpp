// The routes of assisted recovery, one declaration each, and the page that its mail leads to.
#include "accounts/pages.hpp"
#include "four_eyes/four_eyes.hpp"
#include "recovery/recovery.hpp"

namespace berth::recovery {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::StepUp;
using api::Work;

namespace {

constexpr std::string_view objection_script = R"(
const status = document.querySelector('p');
const button = document.querySelector('button');
button.addEventListener('click', async () => {
  button.disabled = true;
  const id = location.pathname.split('/').pop();
  const answer = await fetch('/api/v1/recoveries/' + id + '/object', {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({token: location.hash.slice(1)}),
  });
  const body = await answer.json();
  if (!answer.ok) {
    status.textContent = body.error.message;
    button.disabled = !body.error.retryable;
    return;
  }
  history.replaceState(null, '', location.pathname);
  status.textContent = body.state === 'objected'
    ? 'It was ended. The account stays as it is.'
    : 'Your objection was noted. Operators look into it before anything changes.';
});
)";

// The token is behind the '#', which browsers do not send: a mail scanner that opens the link ends
// nothing.
api::Html objection_page(Call& call) {
    return accounts::button_page(
        call, {.title = "Object",
               .text = "Press the button if the account is yours and nobody else is to get it.",
               .button = "Object",
               .script = objection_script});
}

const api::DeclaredError own_account{Code::forbidden, "the account is the caller's own"};
const api::DeclaredError is_over{Code::conflict,
                                 "it was completed, cancelled, objected to or expired"};

}  // namespace

void Recoveries::add_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/admin/recoveries",
                .name = "list_recoveries",
                .group = "admin",
                .summary = "Recoveries of accounts whose mailbox or wallet was lost, newest first.",
                .access = Access::operator_},
               [this](Call& call, const api::Query<RecoveriesQuery>& query) {
                   return list(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/recoveries/{id}",
                .name = "show_recovery",
                .group = "admin",
                .summary = "One recovery.",
                .access = Access::operator_,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<RecoveryPath>& path) { return show(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/recoveries",
                .name = "open_recovery",
                .group = "admin",
                .summary = "Asks every known address of an account whether another mailbox or "
                           "wallet may take the place of one that was lost.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .status = 201,
                .deferral = four_eyes::waits,
                .errors = {own_account,
                           Code::not_found,
                           {Code::conflict, "a recovery of the account waits already"},
                           {Code::conflict, "the account is closed"},
                           {Code::conflict, "the address or wallet belongs to an account"},
                           {Code::conflict,
                            "a person's account has no wallet, or an agent's no "
                            "mailbox, that could be recovered"}}},
               [this](Call& call, const Body<NewRecovery>& body) { return open(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/recoveries/{id}/complete",
                .name = "complete_recovery",
                .group = "admin",
                .summary = "Puts the other mailbox or wallet in place, after the time to object.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = {own_account,
                           Code::not_found,
                           {Code::conflict, "there is still time to object"},
                           {Code::conflict,
                            "somebody used the lost mailbox or wallet meanwhile, or, where nobody "
                            "could be told, a key"},
                           {Code::conflict, "the account is closed"},
                           {Code::unavailable,
                            "payments are being compared with the chain; try again later"},
                           {Code::conflict, "the address or wallet belongs to an account by now"},
                           is_over}},
               [this](Call& call, const Path<RecoveryPath>& path,
                      const Body<RecoveryDecision>& body) { return complete(call, *path, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/recoveries/{id}/cancel",
                .name = "cancel_recovery",
                .group = "admin",
                .summary = "Ends a recovery; nothing changes.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {Code::not_found, is_over}},
               [this](Call& call, const Path<RecoveryPath>& path,
                      const Body<RecoveryDecision>& body) { return cancel(call, *path, *body); });
    add_own_routes(router);
}

void Recoveries::add_own_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/account/recoveries",
                .name = "list_own_recoveries",
                .group = "account",
                .summary = "Whether somebody asks for this account, the newest first."},
               [this](Call& call) { return list_own(call); });
    router.add({.method = "POST",
                .path = "/api/v1/account/recoveries/{id}/object",
                .name = "object_to_recovery",
                .group = "account",
                .summary = "Ends a recovery of this account that its owner did not ask for.",
                .work = Work::write,
                .idempotent = true,
                .errors = {{Code::not_found, "the account has no such recovery"}, is_over}},
               [this](Call& call, const Path<RecoveryPath>& path) { return object(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/recoveries/{id}/object",
                .name = "object_by_link",
                .group = "account",
                .summary = "Ends a recovery by the token of a mailed link.",
                .access = Access::anyone,
                .work = Work::write,
                .errors = {{Code::authorization_invalid, "the token is wrong"}, is_over}},
               [this](Call& call, const Path<RecoveryPath>& path,
                      const Body<ObjectionToken>& body) { return object(call, *path, *body); });
    router.add({.method = "GET",
                .path = "/recovery/{id}",
                .name = "objection_page",
                .group = "pages",
                .summary = "Where the mailed link leads; its button objects.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = api::Cache::open},
               [](Call& call, const Path<RecoveryPath>&) { return objection_page(call); });
}

}  // namespace berth::recovery
