// The routes of the relay: four and no other, so that whatever else stands under /openai/v1 is not
// found before anything is said about the job.
#include "relay/relay.hpp"
#include "relay/settings.hpp"

namespace berth::relay {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Router;
using api::Work;

namespace {

const api::RateRule relay_rate{"relay", api::rate_setting<&Settings::rate_relay_per_minute>,
                               std::chrono::minutes(1), api::RateRule::By::account};

struct Named {
    const char* method;
    const char* path;
    const char* name;
    const char* summary;
};

api::Route route(const Named& named) {
    return {.method = named.method,
            .path = std::string("/api/v1/jobs/{id}/openai") + named.path,
            .name = named.name,
            .group = "relay",
            .summary = named.summary,
            .access = Access::renter,
            .work = Work::remembered,
            .own_page_only = true,
            .errors = {Code::not_found,
                       {Code::conflict, "the job is not RUNNING, or serves no model"},
                       {Code::unavailable, "the engine failed or does not answer"}},
            .rate = &relay_rate,
            .body_bytes_max = Relay::body_bytes_max};
}

}  // namespace

void Relay::add_routes(Router& router) {
    router.add(route({"GET", "/v1/models", "relay_models",
                      "The models that the job's engine serves, as it lists them."}),
               [this](Call& call, const Path<JobPath>& path) {
                   return pass(call, *path, {"GET", "/v1/models"});
               });
    const auto add = [&](const Named& named) {
        router.add(route(named), [this, target = named.path](Call& call, const Path<JobPath>& path,
                                                             const Body<wire::PassedObject>&) {
            return pass(call, *path, {"POST", target});
        });
    };
    add({"POST", "/v1/chat/completions", "relay_chat_completions",
         "Asks the job's engine to go on with a conversation; streams when it is asked to."});
    add({"POST", "/v1/completions", "relay_completions",
         "Asks the job's engine to go on with a text; streams when it is asked to."});
    add({"POST", "/v1/embeddings", "relay_embeddings",
         "Asks the job's engine for the embeddings of texts."});
    router.add({.method = "GET",
                .path = "/api/v1/jobs/{id}/usage",
                .name = "show_job_usage",
                .group = "relay",
                .summary = "What was relayed to the job's engine; nothing is billed by it.",
                .access = Access::renter,
                .work = Work::blocking,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<JobPath>& path) { return usage(call, *path); });
}

}  // namespace berth::relay
