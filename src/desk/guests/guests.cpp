#include "guests/guests.hpp"

#include <fmt/format.h>

#include "accounts/mailbox.hpp"
#include "accounts/settings.hpp"
#include "audit/audit.hpp"
#include "base/letters.hpp"
#include "base/redaction.hpp"
#include "crypto/evm.hpp"
#include "mail/address.hpp"

namespace berth::guests {
namespace {

using accounts::Allowed;
using accounts::AllowedKind;

Guest shown(const Allowed& row) {
    return {row.allowed_id, row.kind,       row.value,      row.reason, row.added_by,
            row.created_at, row.expires_at, row.invited_at, row.used_at};
}

// Who is meant, as the list has it.
Allowed meant(const NewGuest& request) {
    const int named = (request.email ? 1 : 0) + (request.domain ? 1 : 0) + (request.wallet ? 1 : 0);
    if (named != 1)
        throw Problem(Code::invalid_input, "body: name one of email, domain and wallet");
    if (request.invite.value_or(false) && !request.email)
        throw Problem(Code::invalid_input, "body.invite: a mail goes to an email only");
    Allowed row;
    if (request.email) {
        row.value = mail::normalized_email(request.email->value).value();
    } else if (request.domain) {
        row.kind = AllowedKind::domain;
        for (const char c : request.domain->value) row.value += to_lower(c);
        if (!mail::is_email("a@" + row.value))
            throw Problem(Code::invalid_input,
                          "body.domain: must be a domain, such as example.com");
    } else {
        const auto address = crypto::parse_address(request.wallet->value);
        if (!address) throw Problem(Code::invalid_input, "body.wallet: has a wrong checksum");
        row.kind = AllowedKind::wallet;
        row.value = crypto::to_string(*address);
    }
    return row;
}

// The record is never erased, so an address of mail is in it by its ends alone.
std::string recorded(const Allowed& row) {
    return row.kind == AllowedKind::email ? accounts::masked_email(row.value) : row.value;
}

audit::Event event_of(const api::Call& call, const Allowed& row, std::string action,
                      const std::string& reason) {
    const bool added = action == "allow_entrance";
    return {.actor = audit::Actor::of(call.caller.account),
            .action = std::move(action),
            .target = {"allow_list", to_string(row.allowed_id)},
            .reason = reason,
            .changes = {{std::string(enum_name(row.kind)),
                         added ? std::nullopt : std::optional(recorded(row)),
                         added ? std::optional(recorded(row)) : std::nullopt}},
            .request = call.request_id};
}

}  // namespace

Guest Guests::add(api::Call& call, const NewGuest& request) const {
    Allowed row = meant(request);
    if (request.expires_at && *request.expires_at <= call.now)
        throw Problem(Code::invalid_input, "body.expires_at: must lie in the future");
    call.require_step_up();
    row.allowed_id = call.make_id<accounts::AllowedId>();
    row.reason = without_unnamed_secrets(request.reason.value);
    row.added_by = call.caller.account;
    row.created_at = call.now;
    row.expires_at = request.expires_at;
    if (request.invite.value_or(false)) row.invited_at = call.now;
    if (!accounts::add_allowed(call.tx(), row))
        throw Problem(Code::conflict, "this is on the list already; remove it first");
    if (row.invited_at) invite(call, row);
    audit::record(call.context(), event_of(call, row, "allow_entrance", row.reason));
    return shown(row);
}

void Guests::remove(api::Call& call, const GuestPath& path, const RemoveGuest& request) const {
    const auto row = accounts::find_allowed(call.tx(), path.id);
    if (!row) throw Problem(Code::not_found, "the list has no such entry");
    call.require_step_up();
    if (!accounts::remove_allowed(call.tx(), path.id))
        throw Problem(Code::not_found, "the list has no such entry");
    audit::record(call.context(), event_of(call, *row, "end_entrance", request.reason.value));
}

api::Page<Guest> Guests::list(api::Call& call, const GuestsQuery& query) const {
    const api::Pager pager(call.cursors,
                           {"allow list", query.kind ? std::string(enum_name(*query.kind)) : "any"},
                           query);
    const accounts::AllowedWanted wanted{query.kind, pager.after_id<accounts::AllowedId>()};
    return pager.page(accounts::list_allowed(call.tx(), wanted, pager.rows_wanted()),
                      &Allowed::allowed_id, shown);
}

void Guests::invite(api::Call& call, const Allowed& allowed) const {
    const std::string& brand = accounts::brand(call);
    const std::string until =
        allowed.expires_at ? fmt::format(" until {}", to_rfc3339(*allowed.expires_at)) : "";
    outbox_.send(call.context(),
                 {.to = allowed.value,
                  .subject = fmt::format("You are invited to {}", brand),
                  .text = fmt::format("{} lets you in: sign in with this address of mail at {}{}. "
                                      "There is no password; a code is mailed to you.\n\nIf you "
                                      "do not know why you get this, ignore it.\n",
                                      brand, site_.base_url, until),
                  .useful_until = allowed.expires_at});
}

void Guests::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/admin/allow-list",
                .name = "list_guests",
                .group = "admin",
                .summary = "Who may open an account while the market is closed, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<GuestsQuery>& query) {
                   return list(call, *query);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/allow-list",
         .name = "add_guest",
         .group = "admin",
         .summary = "Lets an address, a domain or a wallet in, and may invite by mail.",
         .access = Access::support,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .status = 201,
         .errors = {{Code::conflict, "it is on the list already"}}},
        [this](api::Call& call, const api::Body<NewGuest>& body) { return add(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/allow-list/{id}/remove",
                .name = "remove_guest",
                .group = "admin",
                .summary = "Takes an entry off the list; accounts that came in by it stay.",
                .access = Access::support,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .status = 204,
                .errors = {Code::not_found}},
               [this](api::Call& call, const api::Path<GuestPath>& path,
                      const api::Body<RemoveGuest>& body) { remove(call, *path, *body); });
}

}  // namespace berth::guests
