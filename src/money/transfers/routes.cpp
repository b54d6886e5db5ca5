// The routes of transfers and addresses, one declaration each.
#include "transfers/pages.hpp"
#include "transfers/payees.hpp"
#include "transfers/transfers.hpp"

namespace berth::transfers {

using api::Access;
using api::Body;
using api::Call;
using api::PageQuery;
using api::Path;
using api::Query;
using api::Router;
using api::StepUp;
using api::Work;

namespace {

std::vector<api::DeclaredError> transfer_errors() {
    return {{Code::forbidden,
             "a code is missing, a key names an address that is not saved, or the caller may not "
             "use the route"},
            {Code::authorization_invalid,
             "the code or signature is wrong, used, too old, or of another transfer"},
            {Code::insufficient_funds, "the balance does not cover the amount"},
            {Code::conflict, "the account has as many open transfers or addresses as it can"},
            {Code::conflict, "the token refused payments to this address, which is barred"},
            {Code::conflict, "an operator has frozen the account"},
            {Code::unavailable, "payments are not set up on this server; nothing was locked"}};
}

std::vector<api::DeclaredError> cancel_errors() {
    return {{Code::not_found, "the account has no such transfer"},
            {Code::conflict, "it was signed already, or is over"},
            {Code::conflict, "an operator holds it back"},
            {Code::unavailable, "payments are being compared with the chain; try again later"}};
}

}  // namespace

void Transfers::add_routes(Router& router) const {
    add_transfer_routes(router);
    add_address_routes(router);
    add_payee_routes(router);
    operators_.add_routes(router);
}

void Transfers::add_transfer_routes(Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/withdrawals",
                .name = "request_withdrawal",
                .group = "withdrawals",
                .summary = "Sends a part of the balance to an address.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = transfer_errors()},
               [this](Call& call, const Body<TransferRequest>& body) {
                   return request(call, TransferKind::withdrawal, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/withdrawals",
                .name = "list_withdrawals",
                .group = "withdrawals",
                .summary = "The account's withdrawals, newest first.",
                .access = Access::renter},
               [this](Call& call, const Query<PageQuery>& query) {
                   return list(call, TransferKind::withdrawal, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/withdrawals/{id}/cancel",
                .name = "cancel_withdrawal",
                .group = "withdrawals",
                .summary = "Calls a withdrawal off that was not signed yet; its money is back "
                           "at once.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .errors = cancel_errors()},
               [this](Call& call, const Path<TransferPath>& path) {
                   return cancel(call, TransferKind::withdrawal, *path);
               });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/payouts",
                .name = "request_payout",
                .group = "hosts",
                .summary = "Sends a part of a host's earnings to an address.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = transfer_errors()},
               [this](Call& call, const Body<TransferRequest>& body) {
                   return request(call, TransferKind::payout, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/payouts",
                .name = "list_payouts",
                .group = "hosts",
                .summary = "A host's payouts, newest first.",
                .access = Access::host},
               [this](Call& call, const Query<PageQuery>& query) {
                   return list(call, TransferKind::payout, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/payouts/{id}/cancel",
                .name = "cancel_payout",
                .group = "hosts",
                .summary = "Calls a payout off that was not signed yet; its money is back at once.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .errors = cancel_errors()},
               [this](Call& call, const Path<TransferPath>& path) {
                   return cancel(call, TransferKind::payout, *path);
               });
    router.add({.method = "POST",
                .path = "/api/v1/withdrawals/code",
                .name = "send_withdrawal_code",
                .group = "withdrawals",
                .summary = "Mails a code for one transfer, to an account without an authenticator.",
                .access = Access::session,
                .work = Work::write,
                .status = 202,
                .errors = {{Code::conflict, "the account confirms with its authenticator"}}},
               [this](Call& call, const Body<AskCode>& body) { return send_code(call, *body); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/withdrawals/challenge",
         .name = "challenge_withdrawal",
         .group = "withdrawals",
         .summary = "A text to sign for one transfer, for an account that has only a wallet.",
         .access = Access::participant,
         .work = Work::write,
         .status = 201,
         .errors = {{Code::conflict, "the account does not confirm by its wallet"}}},
        [this](Call& call, const Body<AskCode>& body) { return challenge(call, *body); });
}

void Transfers::add_address_routes(Router& router) const {
    router.add(
        {.method = "POST",
         .path = "/api/v1/withdrawal-addresses",
         .name = "add_withdrawal_address",
         .group = "withdrawals",
         .summary = "Asks for an address to be saved; a mailed link confirms it.",
         .access = Access::session,
         .work = Work::write,
         .idempotent = true,
         .status = 202,
         .errors = {{Code::authorization_invalid, "the authenticator's code is wrong"},
                    {Code::conflict, "the account has as many addresses as it can"},
                    {Code::forbidden, "the authenticator's code is missing"}}},
        [this](Call& call, const Body<NewAddress>& body) { return add_address(call, *body); });
    router.add({.method = "GET",
                .path = "/api/v1/withdrawal-addresses",
                .name = "list_withdrawal_addresses",
                .group = "withdrawals",
                .summary = "Saved addresses and those that wait for their confirmation.",
                .access = Access::participant},
               [this](Call& call) { return list_addresses(call); });
    router.add({.method = "DELETE",
                .path = "/api/v1/withdrawal-addresses/{id}",
                .name = "remove_withdrawal_address",
                .group = "withdrawals",
                .summary = "Removes an address, and calls off what waits for it.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::account_sensitive,
                .idempotent = true,
                .status = 204,
                .errors = {{Code::not_found, "the account has no such address"}}},
               [this](Call& call, const Path<AddressPath>& path) { remove_address(call, *path); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/confirmations/{confirmation_id}",
         .name = "confirm",
         .group = "withdrawals",
         .summary = "Confirms an address by the token of a mailed link.",
         .access = Access::anyone,
         .work = Work::write,
         .errors = {{Code::authorization_invalid,
                     "the link is wrong, used or expired, or its address was removed"},
                    {Code::forbidden, "the account is suspended, or the address blocked"},
                    {Code::insufficient_funds, "the balance does not cover the transfer any more"},
                    {Code::conflict, "the transfer was called off"},
                    {Code::conflict, "an operator has frozen the account"},
                    {Code::unavailable, "payments are not set up on this server"}}},
        [this](Call& call, const Path<ConfirmationPath>& path,
               const Body<ConfirmationToken>& body) { return confirm(call, *path, *body); });
    router.add({.method = "GET",
                .path = "/confirm/{confirmation_id}",
                .name = "confirm_page",
                .group = "withdrawals",
                .summary = "The page that a mailed link leads to.",
                .access = Access::anyone,
                .work = Work::memory},
               [](Call& call, const Path<ConfirmationPath>&) { return confirm_page(call); });
}

}  // namespace berth::transfers
