// The routes of money, one declaration each.
#include "money/money.hpp"
#include "money/pages.hpp"

namespace berth::money {

using api::Access;
using api::Body;
using api::Call;
using api::PageQuery;
using api::Path;
using api::Query;
using api::RateRules;
using api::Router;
using api::StepUp;
using api::Work;

void Money::add_routes(Router& router, const RateRules& rates) const {
    add_billing_routes(router, rates);
    add_funding_routes(router, rates);
    add_transfer_routes(router, rates);
    add_address_routes(router, rates);
}

void Money::add_billing_routes(Router& router, const RateRules& rates) const {
    router.add({.method = "GET", .path = "/api/v1/billing", .name = "show_balances",
                .group = "billing", .summary = "What the account has of an asset, from the ledger.",
                .rate = &rates.account},
               [this](Call& call, const Query<AssetQuery>& query) {
                   return billing_.balances(call, *query);
               });
    router.add({.method = "GET", .path = "/api/v1/billing/entries", .name = "list_entries",
                .group = "billing",
                .summary = "The account's ledger entries, newest first, with their evidence.",
                .errors = {Code::forbidden}, .rate = &rates.account},
               [this](Call& call, const Query<EntriesQuery>& query) {
                   return billing_.entries(call, *query);
               });
    router.add({.method = "GET", .path = "/api/v1/billing/receipts/{job}", .name = "show_receipt",
                .group = "billing", .summary = "The receipt of a job, for its renter.",
                .errors = {Code::not_found}, .rate = &rates.account},
               [this](Call& call, const Path<JobPath>& path) {
                   return billing_.receipt(call, *path);
               });
    router.add({.method = "GET", .path = "/api/v1/hosts/earnings", .name = "show_earnings",
                .group = "hosts", .summary = "What a host has earned, and where it is now.",
                .access = Access::host, .rate = &rates.account},
               [this](Call& call, const Query<AssetQuery>& query) {
                   return billing_.earnings(call, *query);
               });
    // Everybody but the owner is told that there is no such machine, so nobody is refused earlier.
    router.add({.method = "GET", .path = "/api/v1/hosts/machines/{id}/earnings",
                .name = "show_machine_earnings", .group = "hosts",
                .summary = "What one machine has earned, day by day.",
                .access = Access::participant, .errors = {Code::not_found}, .rate = &rates.account},
               [this](Call& call, const Path<MachinePath>& path, const Query<WindowQuery>& query) {
                   return billing_.machine_earnings(call, *path, *query);
               });
}

void Money::add_funding_routes(Router& router, const RateRules& rates) const {
    router.add({.method = "POST", .path = "/api/v1/funding-intents", .name = "create_funding_intent",
                .group = "funding", .summary = "Says what will be sent, and learns where to.",
                .access = Access::renter, .work = Work::write, .idempotent = true, .status = 201,
                .errors = {Code::not_found, Code::conflict, Code::unavailable},
                .rate = &rates.account},
               [this](Call& call, const Query<AssetQuery>& query, const Body<NewIntent>& body) {
                   return funding_.create(call, *query, *body);
               });
    router.add({.method = "GET", .path = "/api/v1/funding-intents", .name = "list_funding_intents",
                .group = "funding", .summary = "The account's funding intents, newest first.",
                .access = Access::renter, .rate = &rates.account},
               [this](Call& call, const Query<PageQuery>& query) {
                   return funding_.list(call, *query);
               });
    router.add({.method = "GET", .path = "/api/v1/funding-intents/{id}",
                .name = "show_funding_intent", .group = "funding",
                .summary = "One funding intent and what became of it.", .access = Access::renter,
                .errors = {Code::not_found}, .rate = &rates.account},
               [this](Call& call, const Path<IntentPath>& path) {
                   return funding_.show(call, *path);
               });
    router.add_asking(
        {.method = "POST", .path = "/api/v1/funding-intents/{id}/claim",
         .name = "claim_funding_intent", .group = "funding",
         .summary = "Says which transfer it was; credits it once the chain calls it final.",
         .access = Access::renter, .work = Work::write, .idempotent = true, .status = 202,
         .errors = {Code::not_found, Code::forbidden, Code::conflict, Code::unavailable}, .rate = &rates.account},
        [this](Call& call, const Path<IntentPath>& path, const Body<ClaimTransfer>& body) {
            return funding_.prepare_claim(call, *path, *body);
        },
        [this](Call& call, const ClaimFacts& facts, const Path<IntentPath>& path,
               const Body<ClaimTransfer>& body) {
            return funding_.claim(call, facts, *path, *body);
        });
    router.add({.method = "GET", .path = "/api/v1/admin/suspense", .name = "list_suspense",
                .group = "admin", .summary = "Transfers to the treasury that nobody has claimed.",
                .access = Access::admin, .rate = &rates.account},
               [this](Call& call, const Query<PageQuery>& query) {
                   return funding_.suspense(call, *query);
               });
}

void Money::add_transfer_routes(Router& router, const RateRules& rates) const {
    router.add({.method = "POST", .path = "/api/v1/withdrawals", .name = "request_withdrawal",
                .group = "withdrawals", .summary = "Sends a part of the balance to an address.",
                .access = Access::renter, .work = Work::write, .idempotent = true, .status = 202,
                .errors = {Code::forbidden, Code::authorization_invalid, Code::insufficient_funds,
                           Code::conflict, Code::unauthenticated},
                .rate = &rates.account},
               [this](Call& call, const Body<TransferRequest>& body) {
                   return transfers_.request(call, TransferKind::withdrawal, *body);
               });
    router.add({.method = "GET", .path = "/api/v1/withdrawals", .name = "list_withdrawals",
                .group = "withdrawals", .summary = "The account's withdrawals, newest first.",
                .access = Access::renter, .rate = &rates.account},
               [this](Call& call, const Query<PageQuery>& query) {
                   return transfers_.list(call, TransferKind::withdrawal, *query);
               });
    router.add({.method = "POST", .path = "/api/v1/hosts/payouts", .name = "request_payout",
                .group = "hosts", .summary = "Sends a part of a host's earnings to an address.",
                .access = Access::host, .work = Work::write, .idempotent = true, .status = 202,
                .errors = {Code::forbidden, Code::authorization_invalid, Code::insufficient_funds,
                           Code::conflict, Code::unauthenticated},
                .rate = &rates.account},
               [this](Call& call, const Body<TransferRequest>& body) {
                   return transfers_.request(call, TransferKind::payout, *body);
               });
    router.add({.method = "GET", .path = "/api/v1/hosts/payouts", .name = "list_payouts",
                .group = "hosts", .summary = "A host's payouts, newest first.",
                .access = Access::host, .rate = &rates.account},
               [this](Call& call, const Query<PageQuery>& query) {
                   return transfers_.list(call, TransferKind::payout, *query);
               });
    router.add({.method = "POST", .path = "/api/v1/withdrawals/code", .name = "send_withdrawal_code",
                .group = "withdrawals",
                .summary = "Mails a code for one transfer, to an account without an authenticator.",
                .access = Access::session, .work = Work::write, .status = 202,
                .errors = {Code::conflict}, .rate = &rates.account},
               [this](Call& call, const Body<AskCode>& body) {
                   return transfers_.send_code(call, *body);
               });
    router.add({.method = "POST", .path = "/api/v1/withdrawals/challenge",
                .name = "challenge_withdrawal", .group = "withdrawals",
                .summary = "A text to sign for one transfer, for an account that has only a wallet.",
                .access = Access::participant, .work = Work::write, .status = 201,
                .errors = {Code::conflict}, .rate = &rates.account},
               [this](Call& call, const Body<AskCode>& body) {
                   return transfers_.challenge(call, *body);
               });
}

void Money::add_address_routes(Router& router, const RateRules& rates) const {
    router.add({.method = "POST", .path = "/api/v1/withdrawal-addresses",
                .name = "add_withdrawal_address", .group = "withdrawals",
                .summary = "Asks for an address to be saved; a mailed link confirms it.",
                .access = Access::session, .work = Work::write, .idempotent = true, .status = 202,
                .errors = {Code::authorization_invalid, Code::conflict, Code::unauthenticated},
                .rate = &rates.account},
               [this](Call& call, const Body<NewAddress>& body) {
                   return transfers_.add_address(call, *body);
               });
    router.add({.method = "GET", .path = "/api/v1/withdrawal-addresses",
                .name = "list_withdrawal_addresses", .group = "withdrawals",
                .summary = "Saved addresses and those that wait for their confirmation.",
                .access = Access::participant, .rate = &rates.account},
               [this](Call& call) { return transfers_.list_addresses(call); });
    router.add({.method = "DELETE", .path = "/api/v1/withdrawal-addresses/{id}",
                .name = "remove_withdrawal_address", .group = "withdrawals",
                .summary = "Removes an address, and calls off what waits for it.",
                .access = Access::session, .work = Work::write,
                .step_up = StepUp::account_sensitive, .idempotent = true, .status = 204,
                .errors = {Code::not_found}, .rate = &rates.account},
               [this](Call& call, const Path<AddressPath>& path) {
                   transfers_.remove_address(call, *path);
               });
    router.add({.method = "POST", .path = "/api/v1/confirmations/{confirmation_id}",
                .name = "confirm", .group = "withdrawals",
                .summary = "Confirms an address by the token of a mailed link.",
                .access = Access::anyone, .work = Work::write,
                .errors = {Code::authorization_invalid, Code::forbidden, Code::insufficient_funds,
                           Code::conflict},
                .rate = &rates.open},
               [this](Call& call, const Path<ConfirmationPath>& path,
                      const Body<ConfirmationToken>& body) {
                   return transfers_.confirm(call, *path, *body);
               });
    router.add({.method = "GET", .path = "/confirm/{confirmation_id}", .name = "confirm_page",
                .group = "withdrawals", .summary = "The page that a mailed link leads to.",
                .access = Access::anyone, .work = Work::memory, .rate = &rates.open},
               [](Call& call, const Path<ConfirmationPath>&) { return confirm_page(call); });
}

}  // namespace berth::money
