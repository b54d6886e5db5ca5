// The templates that ship with the program. Every image digest stands in the public file that
// `image_source` names; a template without such a digest would ship unpublished. Sizes of weights
// are those that the published checkpoints state themselves (total_size of their safetensors index,
// or the bytes of the GGUF file); KV bytes a token are layers x KV heads x head size x 2 (K and V)
// x 2 bytes. A revision is a commit of the model's repository at the hub, as public projects pin
// it; models that the hub gives to nobody without a token have none, since hosts do not keep them.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "offers/templates.hpp"

namespace berth::offers {
namespace {

constexpr std::string_view vllm_image =
    "docker.io/vllm/vllm-openai@sha256:"
    "1d6866b87630d94f5e0cdae55ab5abb4ce0b03fcb84d9d10612f9d518d19d4fd";
constexpr std::string_view vllm_source =
    "github.com/tinfoilsh/vllm-openai-audio: Dockerfile (v0.14.0)";
constexpr std::string_view llama_cpp_image =
    "ghcr.io/ggml-org/llama.cpp@sha256:"
    "5268283a8d6510d167364f19aee93e98180d8eb0cac4b7edb20af7e3edf40c17";
constexpr std::string_view llama_cpp_source =
    "github.com/jgoppert/local_agent: Dockerfile (server-cuda)";

constexpr std::string_view openai_expose = R"([{"name":"openai","port":8000,"protocol":"http"}])";
constexpr std::string_view vllm_notes =
    "An OpenAI-compatible server of vLLM, which is started with MODEL_ID and MAX_MODEL_LEN, spread "
    "over as many GPUs as it takes.";
constexpr std::string_view llama_cpp_notes =
    "An OpenAI-compatible server of llama.cpp, which fetches the weights when it starts.";

TemplateId id_of(std::string_view text) {
    const auto uuid = parse_uuid(text);
    require(uuid.has_value(), "the id of a starter template is a UUID");
    return {*uuid};
}

// A model on vLLM, in bf16.
struct VllmModel {
    std::string_view id;
    std::string_view slug;
    std::string_view name;
    std::string_view repository;
    std::string_view revision = {};
    std::int64_t weights_bytes;
    std::int64_t kv_bytes_per_token;
    std::int64_t max_model_len;
    std::int64_t min_vram_bytes;
    std::int64_t min_gpu_count = 1;
    bool gated = false;
};

TemplateRow vllm_model(const VllmModel& model) {
    TemplateRow row;
    row.template_id = id_of(model.id);
    row.slug = model.slug;
    row.name = model.name;
    row.kind = TemplateKind::model;
    row.engine = "vllm";
    row.image_digest = vllm_image;
    row.image_source = vllm_source;
    row.min_vram_bytes = model.min_vram_bytes;
    row.est_weights_bytes = model.weights_bytes;
    row.est_kv_bytes_per_1k_tokens = model.kv_bytes_per_token * 1000;
    row.min_gpu_count = model.min_gpu_count;
    row.exposes = openai_expose;
    row.env =
        R"({"HF_HOME":"/work/hub","MAX_MODEL_LEN":")" + std::to_string(model.max_model_len) +
        R"(","MODEL_ID":")" + std::string(model.repository) + "\"" +
        (model.revision.empty() ? "" : fmt::format(R"(,"MODEL_REVISION":"{}")", model.revision)) +
        (model.min_gpu_count > 1
             ? fmt::format(R"(,"TENSOR_PARALLEL_SIZE":"{}")", model.min_gpu_count)
             : "") +
        "}";
    row.command = fmt::format(
        R"(["vllm","serve","{{MODEL_ID}}","--host","0.0.0.0","--port","8000",)"
        R"("--max-model-len","{{MAX_MODEL_LEN}}"{}{}])",
        model.revision.empty() ? "" : R"(,"--revision","{MODEL_REVISION}")",
        model.min_gpu_count > 1 ? R"(,"--tensor-parallel-size","{TENSOR_PARALLEL_SIZE}")" : "");
    row.setup_notes = vllm_notes;
    row.readiness_path = "/health";
    row.max_model_len = model.max_model_len;
    row.min_cuda = "12.8";
    row.gated = model.gated;
    return row;
}

// A quantized file on llama.cpp, which reads its arguments from the environment.
struct GgufModel {
    std::string_view id;
    std::string_view slug;
    std::string_view name;
    std::string_view repository;
    std::string_view file;
    std::int64_t file_bytes;
    std::int64_t kv_bytes_per_token;
    std::int64_t min_vram_bytes;
};

TemplateRow gguf_model(const GgufModel& model) {
    constexpr std::int64_t context_tokens = 8192;
    TemplateRow row;
    row.template_id = id_of(model.id);
    row.slug = model.slug;
    row.name = model.name;
    row.kind = TemplateKind::model;
    row.engine = "llama.cpp";
    row.quantization = "Q4_K_M";
    row.image_digest = llama_cpp_image;
    row.image_source = llama_cpp_source;
    row.min_vram_bytes = model.min_vram_bytes;
    row.est_weights_bytes = model.file_bytes;
    row.est_kv_bytes_per_1k_tokens = model.kv_bytes_per_token * 1000;
    row.exposes = R"([{"name":"openai","port":8080,"protocol":"http"}])";
    row.env = R"({"LLAMA_ARG_CTX_SIZE":"8192","LLAMA_ARG_HF_FILE":")" + std::string(model.file) +
              R"(","LLAMA_ARG_HF_REPO":")" + std::string(model.repository) +
              R"(","LLAMA_ARG_HOST":"0.0.0.0","LLAMA_ARG_N_GPU_LAYERS":"999",)"
              R"("LLAMA_ARG_PORT":"8080","LLAMA_CACHE":"/work/llama.cpp"})";
    row.setup_notes = llama_cpp_notes;
    row.readiness_path = "/health";
    row.max_model_len = context_tokens;
    row.min_cuda = "12.4";
    return row;
}

struct Workbench {
    std::string_view id;
    std::string_view slug;
    std::string_view name;
    std::string_view engine;
    std::string_view image;
    std::string_view source;
    std::int64_t min_vram_bytes;
    std::string_view exposes;
    std::string_view env;
    std::string_view notes;
    std::optional<std::string> readiness_path;
    std::string_view min_cuda;
};

TemplateRow workbench(const Workbench& bench) {
    TemplateRow row;
    row.template_id = id_of(bench.id);
    row.slug = bench.slug;
    row.name = bench.name;
    row.kind = TemplateKind::classical;
    row.engine = bench.engine;
    row.image_digest = bench.image;
    row.image_source = bench.source;
    row.min_vram_bytes = bench.min_vram_bytes;
    row.exposes = bench.exposes;
    row.env = bench.env;
    row.setup_notes = bench.notes;
    row.readiness_path = bench.readiness_path;
    row.min_cuda = bench.min_cuda;
    return row;
}

std::vector<TemplateRow> models() {
    return {
        vllm_model({.id = "0199b1de-7000-7000-8000-000000000001",
                    .slug = "vllm-qwen2-5-7b-instruct",
                    .name = "Qwen2.5 7B Instruct on vLLM",
                    .repository = "Qwen/Qwen2.5-7B-Instruct",
                    .revision = "a09a35458c702b33eeacc393d103063234e8bc28",
                    .weights_bytes = 15'231'233'024,
                    .kv_bytes_per_token = 28 * 4 * 128 * 4,
                    .max_model_len = 32'768,
                    .min_vram_bytes = 24'000'000'000}),
        vllm_model({.id = "0199b1de-7000-7000-8000-000000000002",
                    .slug = "vllm-qwen3-8b",
                    .name = "Qwen3 8B on vLLM",
                    .repository = "Qwen/Qwen3-8B",
                    .revision = "b968826d9c46dd6066d109eabc6255188de91218",
                    .weights_bytes = 16'381'470'720,
                    .kv_bytes_per_token = 36 * 8 * 128 * 4,
                    .max_model_len = 16'384,
                    .min_vram_bytes = 24'000'000'000}),
        vllm_model({.id = "0199b1de-7000-7000-8000-000000000003",
                    .slug = "vllm-mistral-7b-instruct-v0-3",
                    .name = "Mistral 7B Instruct v0.3 on vLLM",
                    .repository = "mistralai/Mistral-7B-Instruct-v0.3",
                    .weights_bytes = 14'496'047'104,
                    .kv_bytes_per_token = 32 * 8 * 128 * 4,
                    .max_model_len = 32'768,
                    .min_vram_bytes = 24'000'000'000,
                    .gated = true}),
        vllm_model({.id = "0199b1de-7000-7000-8000-000000000004",
                    .slug = "vllm-llama-3-1-8b-instruct",
                    .name = "Llama 3.1 8B Instruct on vLLM",
                    .repository = "meta-llama/Llama-3.1-8B-Instruct",
                    .weights_bytes = 16'060'522'496,
                    .kv_bytes_per_token = 32 * 8 * 128 * 4,
                    .max_model_len = 32'768,
                    .min_vram_bytes = 24'000'000'000,
                    .gated = true}),
        vllm_model({.id = "0199b1de-7000-7000-8000-000000000005",
                    .slug = "vllm-qwen2-5-72b-instruct",
                    .name = "Qwen2.5 72B Instruct on vLLM",
                    .repository = "Qwen/Qwen2.5-72B-Instruct",
                    .revision = "495f39366efef23836d0cfae4fbe635880d2be31",
                    .weights_bytes = 145'412'407'296,
                    .kv_bytes_per_token = 80 * 8 * 128 * 4,
                    .max_model_len = 32'768,
                    .min_vram_bytes = 80'000'000'000,
                    .min_gpu_count = 4}),
        gguf_model({.id = "0199b1de-7000-7000-8000-000000000006",
                    .slug = "llama-cpp-qwen2-5-7b-instruct-q4-k-m",
                    .name = "Qwen2.5 7B Instruct, 4 bit, on llama.cpp",
                    .repository = "bartowski/Qwen2.5-7B-Instruct-GGUF",
                    .file = "Qwen2.5-7B-Instruct-Q4_K_M.gguf",
                    .file_bytes = 4'683'074'240,
                    .kv_bytes_per_token = 28 * 4 * 128 * 4,
                    .min_vram_bytes = 8'000'000'000}),
        gguf_model({.id = "0199b1de-7000-7000-8000-000000000007",
                    .slug = "llama-cpp-llama-3-1-8b-instruct-q4-k-m",
                    .name = "Llama 3.1 8B Instruct, 4 bit, on llama.cpp",
                    .repository = "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF",
                    .file = "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
                    .file_bytes = 4'920'739'232,
                    .kv_bytes_per_token = 32 * 8 * 128 * 4,
                    .min_vram_bytes = 10'000'000'000}),
    };
}

std::vector<TemplateRow> workbenches() {
    return {
        workbench({.id = "0199b1de-7000-7000-8000-000000000101",
                   .slug = "pytorch-2-6",
                   .name = "PyTorch 2.6 with CUDA 12.4",
                   .engine = "pytorch",
                   .image = "docker.io/pytorch/pytorch@sha256:"
                            "77f17f843507062875ce8be2a6f76aa6aa3df7f9ef1e31d9d7432f4b0f563dee",
                   .source = "github.com/Marc-Dvci/FREUID: Dockerfile "
                             "(2.6.0-cuda12.4-cudnn9-runtime)",
                   .min_vram_bytes = 8'000'000'000,
                   .exposes = R"([{"name":"ssh","port":2222,"protocol":"ssh"}])",
                   .env = R"({"HF_HOME":"/work/hub"})",
                   .notes = "A shell with Python and PyTorch. Keep your files under /work.",
                   .readiness_path = std::nullopt,
                   .min_cuda = "12.4"}),
        workbench({.id = "0199b1de-7000-7000-8000-000000000102",
                   .slug = "jupyter-pytorch",
                   .name = "JupyterLab with PyTorch and CUDA 12",
                   .engine = "jupyter",
                   .image = "quay.io/jupyter/pytorch-notebook@sha256:"
                            "69c72823a4e0dbee17114bbe44d0377bc9a39504a76f6314995f7d5bfaa98d60",
                   .source = "github.com/CRC270-HoMMage/nomad-oasis: Dockerfile "
                             "(cuda12-2026-08-03)",
                   .min_vram_bytes = 8'000'000'000,
                   .exposes = R"([{"name":"jupyter","port":8888,"protocol":"http"}])",
                   .env = R"({"HOME":"/work","JUPYTER_RUNTIME_DIR":"/work/.jupyter",)"
                          R"("JUPYTER_TOKEN":"{BERTH_API_KEY}"})",
                   .notes = "JupyterLab on port 8888; its token is the key of the endpoint. `berth "
                            "rentals open` shows it in your browser. Keep your notebooks under "
                            "/work.",
                   .readiness_path = "/api",
                   .min_cuda = "12.4"}),
        workbench({.id = "0199b1de-7000-7000-8000-000000000103",
                   .slug = "comfyui",
                   .name = "ComfyUI with CUDA 12.8",
                   .engine = "comfyui",
                   .image = "docker.io/yanwk/comfyui-boot@sha256:"
                            "7b75f98c317b42490529502c781bb0a699c7ca2a909a0e9df6106de853cf8fb4",
                   .source = "github.com/arehmandev01-dotcom/skyfur-gpu: image/build.sh "
                             "(cu128-slim)",
                   .min_vram_bytes = 8'000'000'000,
                   .exposes = R"([{"name":"comfyui","port":8188,"protocol":"http"}])",
                   .env = R"({"HF_HOME":"/work/hub"})",
                   .notes = "ComfyUI on port 8188; `berth rentals open` shows it in your browser. "
                            "Put models and outputs under /work.",
                   .readiness_path = "/",
                   .min_cuda = "12.8"}),
        workbench({.id = "0199b1de-7000-7000-8000-000000000104",
                   .slug = "whisper",
                   .name = "Whisper on Speaches",
                   .engine = "whisper",
                   .image = "ghcr.io/speaches-ai/speaches@sha256:"
                            "c0da392c37e76a01ba479239b43124c67baf8913ae0f491071d6ac544641dad7",
                   .source = "github.com/tealigantal/AVE: docker/Whisper.Dockerfile (cuda)",
                   .min_vram_bytes = 8'000'000'000,
                   .exposes = R"([{"name":"whisper","port":8000,"protocol":"http"}])",
                   .env = R"({"API_KEY":"{BERTH_API_KEY}","HF_HOME":"/work/hub",)"
                          R"("LOOPBACK_HOST_URL":"http://localhost:8000"})",
                   .notes = "Transcription with the routes of OpenAI's audio API, on port 8000; "
                            "`berth rentals open` shows its page in your browser.",
                   .readiness_path = "/health",
                   .min_cuda = "12.4"}),
    };
}

std::vector<TemplateRow> all() {
    constexpr std::int64_t start_deadline_s = 7200;
    std::vector<TemplateRow> rows = models();
    std::ranges::move(workbenches(), std::back_inserter(rows));
    for (TemplateRow& row : rows) {
        row.start_deadline_s = start_deadline_s;
        row.fits_from_bytes = smallest_vram_bytes(needs_of(row));
        // The time itself is that of the planting.
        if (row.image_digest && row.image_source) row.published_at = Time{};
    }
    return rows;
}

}  // namespace

std::span<const TemplateRow> starter_templates() {
    static const std::vector<TemplateRow> rows = all();
    return rows;
}

}  // namespace berth::offers
