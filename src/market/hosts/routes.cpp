// The routes of hosts, one declaration each.
#include "hosts/all_machines.hpp"
#include "hosts/hosts.hpp"
#include "hosts/standing.hpp"
#include "machines/host_agent_types.hpp"
#include "machines/qualification.hpp"

namespace berth::hosts {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Query;
using api::Work;
using machines::MachinePath;

void Hosts::add_routes(api::Router& router) const {
    actions_.add_routes(router);
    add_all_machines_route(router);
    add_standing_routes(router);
    router.add(
        {.method = "GET",
         .path = "/api/v1/hosts/machines",
         .name = "list_machines",
         .group = "hosts",
         .summary = "The account's machines, newest first.",
         .access = Access::host_or_admin},
        [this](Call& call, const Query<MachinesQuery>& query) { return list(call, *query); });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/machines/{id}",
                .name = "show_machine",
                .group = "hosts",
                .summary = "One machine: its offer, its test, its host and what it earns.",
                .access = Access::host_or_admin,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<MachinePath>& path) { return show(call, path->id); });
    router.add({.method = "PATCH",
                .path = "/api/v1/hosts/machines/{id}",
                .name = "edit_machine",
                .group = "hosts",
                .summary = "Gives a machine a name, or takes it away.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .errors = {Code::not_found,
                           {Code::stale_version, "expected_version is not the machine's version"}}},
               [this](Call& call, const Path<MachinePath>& path, const Body<MachineEdit>& body) {
                   return edit(call, path->id, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/machines/{id}/preempt",
                .name = "preempt_rental",
                .group = "hosts",
                .summary = "Gives the interruptible rental of a machine its notice; nothing more "
                           "is billed, and it ends when the notice is over.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found,
                           {Code::conflict, "no rental runs on the machine"},
                           {Code::conflict, "the rental is dedicated"},
                           {Code::conflict, "the rental has its notice already"}}},
               [this](Call& call, const Path<MachinePath>& path, const Body<TakeBack>& body) {
                   return take_back(call, path->id, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/rentals",
                .name = "list_host_rentals",
                .group = "hosts",
                .summary = "Rentals of the account's own machines, newest first.",
                .access = Access::host},
               [this](Call& call, const Query<HostRentalsQuery>& query) {
                   return list_rentals(call, *query);
               });
    router.add({.method = "DELETE",
                .path = "/api/v1/hosts/machines/{id}",
                .name = "retire_machine",
                .group = "hosts",
                .summary = "Takes a machine out of service for good; its history is kept.",
                .access = Access::host,
                .work = Work::write,
                .idempotent = true,
                .status = 204,
                .errors = {Code::not_found,
                           {Code::conflict, "the machine is listed, rented or being cleaned"}}},
               [this](Call& call, const Path<MachinePath>& path) { retire(call, path->id); });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/machines/{id}/qualification",
                .name = "show_qualification",
                .group = "hosts",
                .summary = "The last test of a machine, with every check.",
                .access = Access::host_or_admin,
                .errors = {Code::not_found}},
               [](Call& call, const Path<MachinePath>& path) {
                   return machines::show_qualification(call, path->id);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/hosts/machines/{id}/qualification/retry",
         .name = "retry_qualification",
         .group = "hosts",
         .summary = "Tests a machine again as soon as its agent is heard.",
         .access = Access::host,
         .work = Work::write,
         .idempotent = true,
         .status = 202,
         .errors = {Code::not_found,
                    {Code::conflict, "the machine is neither UNQUALIFIED nor UNLISTED"}}},
        [this](Call& call, const Path<MachinePath>& path) { return retry_test(call, path->id); });
}

}  // namespace berth::hosts
