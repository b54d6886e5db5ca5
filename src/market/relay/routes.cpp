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

const api::Media models_listed{
    "application/json", "As the engine lists them.",
    R"({"object":"list","data":[{"id":"qwen2.5-7b-instruct","object":"model"}]})"};
const api::Media chat_answered{
    "application/json", "As the engine answers, where `stream` is not true.",
    R"({"id":"chatcmpl-1","object":"chat.completion","model":"qwen2.5-7b-instruct","choices":[)"
    R"({"index":0,"message":{"role":"assistant","content":"Where ships are tied up."},)"
    R"("finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":12,"completion_tokens":6,"total_tokens":18}})"};
const api::Media chat_streamed{
    "text/event-stream",
    "Where `stream` is true: server-sent events as they come, a piece of the answer in the `data` "
    "of each; the last is `[DONE]`.",
    R"(data: {"object":"chat.completion.chunk",)"
    R"("choices":[{"index":0,"delta":{"content":"Where"}}]})"
    "\n\ndata: [DONE]\n\n"};
const api::Media text_answered{
    "application/json", "As the engine answers, where `stream` is not true.",
    R"({"id":"cmpl-1","object":"text_completion","model":"qwen2.5-7b-instruct","choices":[)"
    R"({"index":0,"text":" where ships are tied up.","finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":4,"completion_tokens":6,"total_tokens":10}})"};
const api::Media text_streamed{
    "text/event-stream",
    "Where `stream` is true: server-sent events as they come, a piece of the text in the `data` of "
    "each; the last is `[DONE]`.",
    R"(data: {"object":"text_completion","choices":[{"index":0,"text":" where"}]})"
    "\n\ndata: [DONE]\n\n"};
const api::Media engine_refused{
    "application/json",
    "What the engine refuses, with its own status and in its own words: also with one that is "
    "named here.",
    R"({"error":{"message":"The model `m` does not exist.","type":"NotFoundError",)"
    R"("param":null,"code":404}})"};
const api::Media embeddings_answered{
    "application/json", "As the engine answers.",
    R"({"object":"list","model":"e5","data":[{"object":"embedding","index":0,)"
    R"("embedding":[0.0123,-0.0456]}],"usage":{"prompt_tokens":4,"total_tokens":4}})"};

struct Named {
    const char* method;
    const char* path;
    const char* name;
    const char* summary;
    std::vector<api::Media> media;
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
            .media = named.media,
            .passed_refusal = engine_refused,
            .errors = {Code::not_found,
                       {Code::conflict, "the job is not RUNNING, or serves no model"},
                       {Code::unavailable, "the engine failed or does not answer"}},
            .rate = &relay_rate,
            .body_bytes_max = Relay::body_bytes_max};
}

}  // namespace

void Relay::add_routes(Router& router) {
    router.add(route({"GET",
                      "/v1/models",
                      "relay_models",
                      "The models that the job's engine serves, as it lists them.",
                      {models_listed}}),
               [this](Call& call, const Path<JobPath>& path) {
                   return pass(call, *path, {"GET", "/v1/models"});
               });
    const auto add = [&]<class Asked>(const Named& named, const Asked*) {
        router.add(route(named), [this, target = named.path](Call& call, const Path<JobPath>& path,
                                                             const Body<wire::PassedLike<Asked>>&) {
            return pass(call, *path, {"POST", target});
        });
    };
    add({"POST",
         "/v1/chat/completions",
         "relay_chat_completions",
         "Asks the job's engine to go on with a conversation; streams when it is asked to.",
         {chat_answered, chat_streamed}},
        static_cast<const ChatAsked*>(nullptr));
    add({"POST",
         "/v1/completions",
         "relay_completions",
         "Asks the job's engine to go on with a text; streams when it is asked to.",
         {text_answered, text_streamed}},
        static_cast<const TextAsked*>(nullptr));
    add({"POST",
         "/v1/embeddings",
         "relay_embeddings",
         "Asks the job's engine for the embeddings of texts.",
         {embeddings_answered}},
        static_cast<const EmbeddingsAsked*>(nullptr));
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
