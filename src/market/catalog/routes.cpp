#include "catalog/catalog.hpp"

namespace berth::catalog {

using api::Access;
using api::Cache;
using api::Call;
using api::Path;
using api::Query;
using api::Work;

void Catalog::add_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/offers",
                .name = "list_offers",
                .group = "catalog",
                .summary = "Offers that can be rented now, by any of many filters and orders.",
                .access = Access::anyone,
                .work = Work::memory,
                .errors = {{Code::not_found, "no published template has that template_id"}},
                .cache = Cache::open},
               [this](Call& call, const Query<OffersQuery>& query) { return list(call, *query); });

    router.add(
        {.method = "GET",
         .path = "/api/v1/catalog",
         .name = "browse_catalog",
         .group = "catalog",
         .summary = "Offers by the filters of /offers and more, beside the price of the market, "
                    "with figures of all that pass.",
         .access = Access::anyone,
         .work = Work::blocking,
         .errors = {{Code::not_found, "no published template has that template_id"}},
         .cache = Cache::open},
        [this](Call& call, const Query<CatalogQuery>& query) { return browse(call, *query); });

    router.add(
        {.method = "GET",
         .path = "/api/v1/offers/explain",
         .name = "explain_offers",
         .group = "catalog",
         .summary = "Why /offers or /catalog finds what it finds: what each filter of the query "
                    "removes, and the offers that come nearest.",
         .access = Access::anyone,
         .work = Work::blocking,
         .errors = {{Code::not_found, "no published template has that template_id"}},
         .cache = Cache::open},
        [this](Call& call, const Query<CatalogQuery>& query) { return explain(call, *query); });

    router.add({.method = "GET",
                .path = "/api/v1/offers/{id}",
                .name = "show_offer",
                .group = "catalog",
                .summary = "One offer that is on the market.",
                .access = Access::anyone,
                .work = Work::memory,
                .errors = {{Code::not_found, "the offer is unknown or not on the market now"},
                           {Code::not_found, "no published template has that template_id"}},
                .cache = Cache::open},
               [this](Call& call, const Path<OfferPath>& path, const Query<OneOfferQuery>& query) {
                   return show(call, path->id, *query);
               });
}

}  // namespace berth::catalog
