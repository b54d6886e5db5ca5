// Requests and responses of templates: images that are known to run, and what they need.
#pragma once

#include <boost/describe.hpp>

#include <map>

#include "agent_protocol/payloads.hpp"
#include "offers/fit.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::offers {

using TemplateId = Id<struct TemplateTag>;

using agent_protocol::TemplateKind;

enum class Runtime { cuda, rocm_hip, sycl, vulkan, metal };
BOOST_DESCRIBE_ENUM(Runtime, cuda, rocm_hip, sycl, vulkan, metal)
constexpr std::string_view wire_name(Runtime runtime) {
    return runtime == Runtime::rocm_hip ? "rocm-hip" : "";
}
// What a device must serve.
constexpr Backend backend_of(Runtime runtime) {
    switch (runtime) {
        case Runtime::cuda: return Backend::cuda;
        case Runtime::rocm_hip: return Backend::rocm;
        case Runtime::sycl: return Backend::sycl;
        case Runtime::vulkan: return Backend::vulkan;
        case Runtime::metal: return Backend::metal;
    }
    return Backend::cuda;
}

enum class Protocol { http, ssh, tcp };
BOOST_DESCRIBE_ENUM(Protocol, http, ssh, tcp)

struct Expose {
    wire::Text<1, 40> name;
    wire::Integer<1, 65535> port;
    Protocol protocol = Protocol::http;
};
BOOST_DESCRIBE_STRUCT(Expose, (), (name, port, protocol))
constexpr auto wire_docs(const Expose*) {
    return std::to_array<wire::Doc>({
        {"name", "What is served there.", "openai"},
        {"port", "Inside the container.", "8000"},
        {"protocol", "What is spoken there; only http can be reached through the relay."},
    });
}

struct VramFit {
    wire::Decimal min_vram_bytes;
    wire::Decimal est_weights_bytes;
    wire::Decimal est_kv_bytes_per_1k_tokens;
};
BOOST_DESCRIBE_STRUCT(VramFit, (), (min_vram_bytes, est_weights_bytes, est_kv_bytes_per_1k_tokens))
constexpr auto wire_docs(const VramFit*) {
    return std::to_array<wire::Doc>({
        {"min_vram_bytes", "What one GPU must have at least.", "24000000000"},
        {"est_weights_bytes", "Of the model; 0 where the need is not computed.", "16060522496"},
        {"est_kv_bytes_per_1k_tokens", "Of memory for a thousand tokens of context.", "131072000"},
    });
}

struct TimeToReady {
    wire::Decimal pull_ms;
    wire::Decimal load_ms;
    wire::Decimal probe_ms;
};
BOOST_DESCRIBE_STRUCT(TimeToReady, (), (pull_ms, load_ms, probe_ms))
constexpr auto wire_docs(const TimeToReady*) {
    return std::to_array<wire::Doc>({
        {"pull_ms", "Fetching the image.", "61000"},
        {"load_ms", "Loading the model.", "42000"},
        {"probe_ms", "Until the first answer.", "900"},
    });
}

struct Template {
    TemplateId id;
    std::string template_id;
    std::string name;
    TemplateKind kind = TemplateKind::classical;
    std::string engine;
    wire::Nullable<std::string> quantization;
    wire::Nullable<wire::ImageDigest> image_digest;
    std::vector<std::string> command;
    VramFit vram_fit;
    wire::Integer<1, 1024> min_gpu_count;
    Runtime required_runtime = Runtime::cuda;
    std::vector<Expose> exposes;
    std::map<std::string, std::string> env;
    std::string setup_notes;
    wire::Nullable<std::string> readiness_path;
    wire::Nullable<wire::Count> max_model_len;
    wire::Nullable<std::string> min_cuda;
    bool gated = false;
    wire::Count start_deadline_s;
    wire::Nullable<TimeToReady> time_to_ready;
    wire::Nullable<Time> published_at;
};
BOOST_DESCRIBE_STRUCT(Template, (),
                      (id, template_id, name, kind, engine, quantization, image_digest, command,
                       vram_fit, min_gpu_count, required_runtime, exposes, env, setup_notes,
                       readiness_path, max_model_len, min_cuda, gated, start_deadline_s,
                       time_to_ready, published_at))
constexpr auto wire_docs(const Template*) {
    return std::to_array<wire::Doc>({
        {"id", "What quotes and filters take."},
        {"template_id", "The slug, for people and links.", "vllm-qwen2-5-7b-instruct"},
        {"name", "", "Qwen2.5 7B Instruct on vLLM"},
        {"kind", "", "model"},
        {"engine", "What runs in the image.", "vllm"},
        {"quantization", "Null for full precision.", "null"},
        {"image_digest", "Null only before it is published, which only operators see.",
         "docker.io/vllm/vllm-openai@sha256:"
         "1d6866b87630d94f5e0cdae55ab5abb4ce0b03fcb84d9d10612f9d518d19d4fd"},
        {"command",
         "The program and its arguments, in place of what the image starts by itself; empty: that. "
         "{NAME} stands for that variable of env.",
         "vllm"},
        {"vram_fit", "What it needs of GPU memory."},
        {"min_gpu_count", "Of one machine.", "1"},
        {"required_runtime", "rocm-hip is met by the backend rocm.", "cuda"},
        {"exposes", "What it serves."},
        {"env",
         "Variables that the container is started with. {BERTH_API_KEY} in a value stands for the "
         "key of the job's endpoints.",
         "MAX_MODEL_LEN=8192"},
        {"setup_notes", "For the renter.", "An OpenAI-compatible server on port 8000."},
        {"readiness_path", "Answers when the engine is ready.", "/health"},
        {"max_model_len", "Tokens of context that it is started with.", "8192"},
        {"min_cuda", "The least CUDA version that the driver must support.", "12.8"},
        {"gated", "Whether the weights need the renter's hub token."},
        {"start_deadline_s", "How long a start may take while it makes progress.", "7200"},
        {"time_to_ready", "Median of the last 30 days, once five starts were measured.", "null"},
        {"published_at", "Null only before it is published, which only operators see."},
    });
}

// A slug or an id.
struct TemplatePath {
    wire::Text<1, 64> id;
};
BOOST_DESCRIBE_STRUCT(TemplatePath, (), (id))
constexpr auto wire_docs(const TemplatePath*) {
    return std::to_array<wire::Doc>({
        {"id", "The template's id or its slug.", "vllm-qwen2-5-7b-instruct"},
    });
}

struct TemplateIdPath {
    TemplateId id;
};
BOOST_DESCRIBE_STRUCT(TemplateIdPath, (), (id))

struct TemplateQuery {
    std::optional<TemplateKind> kind;
    std::optional<wire::Decimal> min_vram_bytes;
    std::optional<std::string> cursor;
    std::optional<wire::Integer<1, 100>> limit;
};
BOOST_DESCRIBE_STRUCT(TemplateQuery, (), (kind, min_vram_bytes, cursor, limit))
constexpr auto wire_docs(const TemplateQuery*) {
    return std::to_array<wire::Doc>({
        {"kind", "Only of this kind."},
        {"min_vram_bytes", "Only those that fit a GPU of this size.", "24000000000"},
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
    });
}

// What operators write: all of a template but its id and whether it is published.
struct TemplateDraft {
    wire::Text<1, 64> template_id;
    wire::Text<1, 100> name;
    TemplateKind kind = TemplateKind::classical;
    wire::Text<1, 40> engine;
    std::optional<wire::Nullable<wire::Text<1, 40>>> quantization;
    std::optional<wire::Nullable<wire::ImageDigest>> image_digest;
    std::optional<wire::List<wire::Text<1, 2000>, 0, 64>> command;
    VramFit vram_fit;
    std::optional<wire::Integer<1, 1024>> min_gpu_count;
    Runtime required_runtime = Runtime::cuda;
    std::optional<wire::List<Expose, 0, 16>> exposes;
    std::optional<std::map<std::string, wire::Text<0, 2000>>> env;
    std::optional<wire::Text<0, 4000>> setup_notes;
    std::optional<wire::Nullable<wire::Text<1, 200>>> readiness_path;
    std::optional<wire::Nullable<wire::Integer<1, 1'000'000'000>>> max_model_len;
    std::optional<wire::Nullable<wire::Text<1, 16>>> min_cuda;
    std::optional<bool> gated;
    std::optional<wire::Integer<60, 86'400>> start_deadline_s;
};
BOOST_DESCRIBE_STRUCT(TemplateDraft, (),
                      (template_id, name, kind, engine, quantization, image_digest, command,
                       vram_fit, min_gpu_count, required_runtime, exposes, env, setup_notes,
                       readiness_path, max_model_len, min_cuda, gated, start_deadline_s))
constexpr auto wire_docs(const TemplateDraft*) {
    return std::to_array<wire::Doc>({
        {"template_id", "The slug: small letters, digits and dashes. It never changes.",
         "vllm-qwen2-5-7b-instruct", "", "^[a-z0-9][a-z0-9-]{0,63}$"},
        {"name", "", "Qwen2.5 7B Instruct on vLLM"},
        {"kind", "", "model"},
        {"engine",
         "What runs in the image; vllm, sglang, tgi, llama.cpp and tensorrt-llm spread a "
         "model over GPUs.",
         "vllm"},
        {"quantization", "Left out or null for full precision.", "null"},
        {"image_digest",
         "Begins with its registry and ends with its digest; needed before it can be published.",
         "docker.io/vllm/vllm-openai@sha256:"
         "1d6866b87630d94f5e0cdae55ab5abb4ce0b03fcb84d9d10612f9d518d19d4fd"},
        {"command",
         "The program and its arguments, in place of what the image starts by itself; empty: that. "
         "{NAME} stands for that variable of env.",
         "vllm"},
        {"vram_fit", "What it needs of GPU memory."},
        {"min_gpu_count", "Of one machine.", "1", "1"},
        {"required_runtime", "rocm-hip is met by the backend rocm.", "cuda"},
        {"exposes", "What it serves."},
        {"env",
         "Variables that the container is started with. {BERTH_API_KEY} in a value stands for the "
         "key of the job's endpoints.",
         "MAX_MODEL_LEN=8192"},
        {"setup_notes", "For the renter.", "An OpenAI-compatible server on port 8000."},
        {"readiness_path", "Answers when the engine is ready.", "/health", "", "^/[!-~]*$"},
        {"max_model_len", "Tokens of context that it is started with.", "8192"},
        {"min_cuda", "The least CUDA version that the driver must support.", "12.8", "",
         "^(0|[1-9][0-9]{0,5})([.](0|[1-9][0-9]{0,5}))?$"},
        {"gated", "Whether the weights need the renter's hub token.", "false", "false"},
        {"start_deadline_s", "How long a start may take while it makes progress.", "7200", "7200"},
    });
}

}  // namespace berth::offers
