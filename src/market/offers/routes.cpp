// The routes of offers, one declaration each.
#include "offers/offers.hpp"

namespace berth::offers {

using api::Access;
using api::Body;
using api::Call;
using api::PageQuery;
using api::Path;
using api::Query;
using api::Work;

void Offers::add_routes(api::Router& router) const {
    router.add({.method = "PATCH",
                .path = "/api/v1/hosts/machines/{id}/offer",
                .name = "edit_offer",
                .group = "hosts",
                .summary = "Publishes the next version of a machine's offer; it stays listed if it "
                           "is.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found,
                           {Code::version_conflict, "expected_version is not the offer's version"},
                           {Code::conflict, "a rental holds time that the edit would take back"},
                           {Code::conflict, "availability classes are not released"}},
                .siblings = {current_offer}},
               [this](Call& call, const Path<MachinePath>& path, const Body<OfferEdit>& body) {
                   return edit(call, path->id, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/machines/{id}/offers",
                .name = "list_offer_versions",
                .group = "hosts",
                .summary = "Every version of a machine's offer, newest first.",
                .access = Access::host,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<MachinePath>& path, const Query<PageQuery>& query) {
                   return versions(call, path->id, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/machines/{id}/list",
                .name = "list_machine",
                .group = "hosts",
                .summary = "Puts a machine on the market, or says what is in the way.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found,
                           Code::conflict,
                           {Code::admission_paused, "operators have paused new listings"}}},
               [this](Call& call, const Path<MachinePath>& path) { return list(call, path->id); });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/machines/{id}/unlist",
                .name = "unlist_machine",
                .group = "hosts",
                .summary = "Takes a machine off the market; a rental that runs goes on.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found, Code::conflict}},
               [this](Call& call, const Path<MachinePath>& path) {
                   return take_back(call, path->id, machines::MachineEvent::unlist);
               });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/machines/{id}/drain",
                .name = "drain_machine",
                .group = "hosts",
                .summary = "Lets a rental that runs go on and takes no other.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found, Code::conflict}},
               [this](Call& call, const Path<MachinePath>& path) {
                   return take_back(call, path->id, machines::MachineEvent::drain);
               });
    router.add(
        {.method = "PUT",
         .path = "/api/v1/hosts/machines/{id}/custom-images",
         .name = "set_custom_images",
         .group = "hosts",
         .summary = "Says whether renters may bring images of their own.",
         .access = Access::host,
         .work = Work::write,
         .idempotent = true,
         .errors = {Code::not_found,
                    {Code::conflict, "custom images are not enabled on this service"}}},
        [this](Call& call, const Path<MachinePath>& path, const Body<CustomImagesWish>& body) {
            return set_custom_images(call, path->id, *body);
        });
}

}  // namespace berth::offers
