#include "server/status.hpp"

#include "api/openapi.hpp"
#include "base/version.hpp"
#include "server/console.hpp"
#include "server/settings.hpp"

namespace berth::server {
namespace {

using api::Access;
using api::Cache;
using api::Call;
using api::Work;

ServiceState as_public(CheckState state) {
    return state == CheckState::failed ? ServiceState::down : ServiceState::operational;
}

PublicStatus public_status(const Checks& checks, const Call& call) {
    PublicStatus out;
    // A server without a chain has no part that could work.
    const bool has_chain = checks.chain != CheckState::off;
    out.components = {{{"api"}, as_public(checks.requests)},
                      {{"records"}, as_public(checks.db)},
                      {{"background"}, as_public(checks.worker)}};
    if (has_chain) out.components.push_back({{"chain"}, as_public(checks.chain)});
    out.components.push_back({{"mail"}, as_public(checks.mail)});
    if (has_chain) {
        out.components.push_back({{"payments"}, as_public(checks.settler)});
        // Nothing is down, and everybody may know.
        const bool covered = checks.liabilities != CheckState::failed;
        out.components.push_back(
            {{"liabilities"}, covered ? ServiceState::operational : ServiceState::degraded});
    }
    for (const Component& part : out.components)
        if (part.status != ServiceState::operational) out.status = ServiceState::degraded;
    // Without the table of countries everything works, and nobody knows where machines are.
    const bool located = checks.locations == CheckState::ok;
    out.components.push_back(
        {{"locations"}, located ? ServiceState::operational : ServiceState::degraded});
    if (checks.db == CheckState::failed) out.status = ServiceState::down;
    out.contract_version = {std::string(api::contract_version)};
    out.version = {std::string(project_version)};
    out.admission_paused = *call.settings<api::Settings>().admission_paused;
    out.updated_at = call.now;
    out.console = {console_version()};
    if (*call.settings<Settings>().simulated) out.simulated = true;
    return out;
}

// Requests cannot be served without the database and without memory; the rest catches up by itself.
Ready readiness(const Vitals& vitals) {
    const Checks checks = vitals.checks();
    const bool unready = checks.db == CheckState::failed || checks.requests == CheckState::failed ||
                         vitals.leaving();
    return {unready ? Readiness::unready : Readiness::ready, checks};
}

}  // namespace

void add_status_routes(api::Router& router, const Vitals* vitals,
                       std::shared_ptr<Reference> reference) {
    router.add({.method = "GET",
                .path = "/healthz",
                .name = "health",
                .group = "status",
                .summary = "Tells that the process is alive.",
                .access = Access::anyone,
                .work = Work::memory,
                .rate = &api::unlimited,
                .cache = Cache::open},
               [](Call&) { return Health{{"ok"}}; });

    router.add({.method = "GET",
                .path = "/readyz",
                .name = "readiness",
                .group = "status",
                .summary = "Tells whether requests can be served now, and how the parts are.",
                .access = Access::anyone,
                .work = Work::memory,
                .second_status = 503,
                .rate = &api::unlimited,
                .cache = Cache::open},
               [vitals](Call& call) {
                   const Ready ready = readiness(*vitals);
                   if (ready.status == Readiness::unready) call.answer_with(503);
                   return ready;
               });

    router.add({.method = "GET",
                .path = "/api/v1/status",
                .name = "public_status",
                .group = "status",
                .summary = "The state of the service, for everyone.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = Cache::open},
               [vitals](Call& call) { return public_status(vitals->checks(), call); });

    router.add(
        {.method = "GET",
         .path = "/openapi.json",
         .name = "specification",
         .group = "status",
         .summary = "This description, made from the routes themselves.",
         .access = Access::anyone,
         .work = Work::memory,
         .cache = Cache::open},
        [reference](Call&) { return wire::Rendered<wire::Object>{{reference->specification()}}; });
}

}  // namespace berth::server
