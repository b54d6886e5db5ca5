// The routes of funding, one declaration each.
#include "funding/funding.hpp"
#include "funding/operators.hpp"

namespace berth::funding {

using api::Access;
using api::Body;
using api::Call;
using api::PageQuery;
using api::Path;
using api::Query;
using api::Router;
using api::Work;

void Funding::add_routes(Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/funding-intents",
                .name = "create_funding_intent",
                .group = "funding",
                .summary = "Says what will be sent, and learns where to.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 201,
                .errors = {{Code::not_found, "there is no such wallet binding"},
                           {Code::conflict, "the wallet was unlinked"},
                           {Code::conflict, "the account has as many open intents as it can"},
                           {Code::unavailable, "funding is not set up on this server"}}},
               [this](Call& call, const Query<AssetQuery>& query, const Body<NewIntent>& body) {
                   return create(call, *query, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/funding-intents",
                .name = "list_funding_intents",
                .group = "funding",
                .summary = "The account's funding intents, newest first.",
                .access = Access::renter},
               [this](Call& call, const Query<PageQuery>& query) { return list(call, *query); });
    router.add_asking(
        {.method = "GET",
         .path = "/api/v1/funding-intents/{id}",
         .name = "show_funding_intent",
         .group = "funding",
         .summary = "One funding intent and what became of it.",
         .access = Access::renter,
         .errors = {{Code::not_found, "the account has no such intent"}}},
        [this](Call& call, const Path<IntentPath>& path) { return prepare_show(call, *path); },
        [this](Call& call, const GlimpseFacts& facts, const Path<IntentPath>& path) {
            return show(call, facts, *path);
        });
    router.add_asking(
        {.method = "GET",
         .path = "/api/v1/funding-intents/{id}/transfers",
         .name = "list_seen_transfers",
         .group = "funding",
         .summary = "The transfers of a transaction to the treasury, and whether they are what the "
                    "intent asked for; claims nothing.",
         .access = Access::renter,
         .errors = {{Code::not_found, "the account has no such intent"},
                    {Code::unavailable, "the chain cannot be asked now; try again"}}},
        [this](Call& call, const Path<IntentPath>& path, const Query<TransfersQuery>& query) {
            return prepare_look(call, *path, *query);
        },
        [this](Call& call, const GlimpseFacts& facts, const Path<IntentPath>& path,
               const Query<TransfersQuery>& query) { return look(call, facts, *path, *query); });
    router.add({.method = "POST",
                .path = "/api/v1/funding-intents/{id}/cancel",
                .name = "cancel_funding_intent",
                .group = "funding",
                .summary = "Calls an intent off that was not confirmed; its transfer, if there is "
                           "one, can be claimed with another.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .errors = {{Code::not_found, "the account has no such intent"},
                           {Code::conflict, "its transfer was credited"}}},
               [this](Call& call, const Path<IntentPath>& path) { return cancel(call, *path); });
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/funding-intents/{id}/claim",
         .name = "claim_funding_intent",
         .group = "funding",
         .summary = "Says which transfer it was; credits it once the chain calls it final.",
         .access = Access::renter,
         .work = Work::write,
         .idempotent = true,
         .status = 202,
         .errors = {{Code::not_found, "the account has no such intent"},
                    {Code::forbidden, "the transfer came from a wallet not bound to the account"},
                    {Code::conflict, "the transfer was used for another intent"},
                    {Code::conflict, "the intent is over"},
                    {Code::unavailable,
                     "the chain cannot be asked now; nothing was credited, try again"}}},
        [this](Call& call, const Path<IntentPath>& path, const Body<ClaimTransfer>& body) {
            return prepare_claim(call, *path, *body);
        },
        [this](Call& call, const ClaimFacts& facts, const Path<IntentPath>& path,
               const Body<ClaimTransfer>& body) { return claim(call, facts, *path, *body); });
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/suspense",
         .name = "list_suspense",
         .group = "admin",
         .summary = "Transfers to the treasury that nobody has claimed.",
         .access = Access::operator_},
        [this](Call& call, const Query<SuspenseQuery>& query) { return suspense(call, *query); });
    add_operator_routes(router);
}

}  // namespace berth::funding
