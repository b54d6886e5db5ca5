// The routes of billing, one declaration each.
#include "billing/billing.hpp"
#include "billing/pages.hpp"

namespace berth::billing {

using api::Access;
using api::Call;
using api::Path;
using api::Query;
using api::Router;
using api::Work;

void BillingDesk::add_routes(Router& router) const {
    router.add(
        {.method = "GET",
         .path = "/api/v1/billing",
         .name = "show_balances",
         .group = "billing",
         .summary = "What the account has of an asset, from the ledger.",
         .access = Access::renter},
        [this](Call& call, const Query<AssetQuery>& query) { return balances(call, *query); });
    router.add(
        {.method = "GET",
         .path = "/api/v1/billing/entries",
         .name = "list_entries",
         .group = "billing",
         .summary = "The account's ledger entries, newest first, with their evidence.",
         .access = Access::renter,
         .errors = {{Code::forbidden, "the entries are another account's"}}},
        [this](Call& call, const Query<EntriesQuery>& query) { return entries(call, *query); });
    router.add({.method = "GET",
                .path = "/api/v1/billing/receipts/{job}",
                .name = "show_receipt",
                .group = "billing",
                .summary = "The receipt of a job, for its renter.",
                .access = Access::renter,
                .errors = {{Code::not_found, "the account has rented no such job"}}},
               [this](Call& call, const Path<JobPath>& path, const Query<ReceiptQuery>& query) {
                   return receipt(call, *path, *query);
               });
    router.add({.method = "GET",
                .path = "/.well-known/berth-keys.json",
                .name = "list_signing_keys",
                .group = "billing",
                .summary = "The public keys that the service signs with, and did.",
                .access = Access::anyone,
                .cache = api::Cache::open},
               [](Call& call) { return published_keys(call.tx()); });
    router.add(
        {.method = "GET",
         .path = "/api/v1/hosts/earnings",
         .name = "show_earnings",
         .group = "hosts",
         .summary = "What a host has earned, and where it is now.",
         .access = Access::host},
        [this](Call& call, const Query<AssetQuery>& query) { return earnings(call, *query); });
    // Everybody but the owner is told that there is no such machine, so nobody is refused earlier.
    router.add({.method = "GET",
                .path = "/api/v1/hosts/machines/{id}/earnings",
                .name = "show_machine_earnings",
                .group = "hosts",
                .summary = "What one machine has earned, day by day.",
                .access = Access::participant,
                .errors = {{Code::not_found, "the account has earned with no such machine"}}},
               [this](Call& call, const Path<MachinePath>& path, const Query<WindowQuery>& query) {
                   return machine_earnings(call, *path, *query);
               });
    router.add({.method = "GET",
                .path = "/terms",
                .name = "terms_page",
                .group = "pages",
                .summary = "The terms of service.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = api::Cache::open},
               [](Call& call) { return terms_page(call); });
}

}  // namespace berth::billing
