#include "offers/fit.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/enum_names.hpp"
#include "base/money.hpp"

namespace berth::offers {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::int64_t per_gpu_bytes = gib / 2;
constexpr std::int64_t usable_percent = 95;  // kept back only against the computed need

constexpr std::array<std::string_view, 5> splitting_engines{"vllm", "sglang", "tgi", "llama.cpp",
                                                            "tensorrt-llm"};

Wide wide(std::int64_t value) { return static_cast<Wide>(value); }

std::int64_t clamped(Wide value) {
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(value, most));
}

Wide need_bytes(const FitNeeds& needs, std::int64_t gpus) {
    const std::int64_t len = needs.max_model_len.value_or(0);
    const std::int64_t thousands = len / 1000 + (len % 1000 != 0 ? 1 : 0);
    const std::int64_t activations = std::max(gib, needs.weights_bytes / 20);
    return wide(needs.weights_bytes) + wide(needs.kv_bytes_per_1k_tokens) * wide(thousands) +
           wide(activations) + wide(gpus) * wide(per_gpu_bytes);
}

Wide have_bytes(std::int64_t vram_bytes, std::int64_t gpus) {
    return wide(gpus) * (wide(vram_bytes) * wide(usable_percent) / 100);
}

std::int64_t power_of_two_up_to(std::int64_t count) {
    std::int64_t power = 1;
    while (power <= count / 2) power *= 2;
    return power;
}

// How many GPUs share the model.
std::int64_t gpus_used(const FitNeeds& needs, std::int64_t vram_bytes, std::int64_t gpu_count) {
    const bool one_is_enough = need_bytes(needs, 1) <= have_bytes(vram_bytes, 1);
    return one_is_enough || !needs.is_model || !needs.splits ? 1 : power_of_two_up_to(gpu_count);
}

std::optional<FitReason> first_obstacle(const FitMachine& machine, const FitNeeds& needs) {
    if (machine.inference_only && !needs.is_model) return FitReason::tier;
    if ((machine.backends & bit_of(needs.runtime)) == 0) return FitReason::runtime;
    if (machine.gpu_count < needs.min_gpu_count) return FitReason::gpu_count;
    if (!machine.vram_bytes) return FitReason::vram_unmeasured;
    if (needs.min_cuda && machine.cuda_max.value_or(-1) < *needs.min_cuda) return FitReason::driver;
    return std::nullopt;
}

}  // namespace

BackendBits backend_bits(std::string_view names) {
    unsigned bits = 0;
    while (!names.empty()) {
        const std::size_t comma = names.find(',');
        if (const auto backend = parse_enum<Backend>(names.substr(0, comma)))
            bits |= bit_of(*backend);
        names = comma == names.npos ? std::string_view{} : names.substr(comma + 1);
    }
    return static_cast<BackendBits>(bits);
}

std::optional<std::int64_t> parse_version(std::string_view text) {
    constexpr std::int64_t part_max = 999'999;
    const std::size_t dot = text.find('.');
    const auto major = parse_decimal(text.substr(0, dot));
    const auto minor = dot == text.npos ? 0 : parse_decimal(text.substr(dot + 1));
    if (!major || !minor || *major > part_max || *minor > part_max) return std::nullopt;
    return *major * (part_max + 1) + *minor;
}

bool engine_splits(std::string_view engine) {
    return std::ranges::find(splitting_engines, engine) != splitting_engines.end();
}

Fit fit(const FitMachine& machine, const FitNeeds& needs) {
    if (const auto obstacle = first_obstacle(machine, needs)) return {obstacle, 0};
    const std::int64_t vram = *machine.vram_bytes;
    if (vram < needs.min_vram_bytes) return {FitReason::vram, 0};
    if (needs.weights_bytes == 0) return {std::nullopt, vram - needs.min_vram_bytes};
    const std::int64_t gpus = gpus_used(needs, vram, machine.gpu_count);
    const Wide have = have_bytes(vram, gpus);
    const Wide need = need_bytes(needs, gpus);
    if (have < need) return {FitReason::vram, 0};
    return {std::nullopt, clamped(have - need)};
}

std::int64_t smallest_vram_bytes(const FitNeeds& needs) {
    if (needs.weights_bytes == 0) return needs.min_vram_bytes;
    const std::int64_t gpus =
        needs.is_model && needs.splits ? power_of_two_up_to(needs.min_gpu_count) : 1;
    const Wide each = (need_bytes(needs, gpus) + wide(gpus) - 1) / wide(gpus);
    const Wide computed = (each * 100 + wide(usable_percent) - 1) / wide(usable_percent);
    return std::max(needs.min_vram_bytes, clamped(computed));
}

}  // namespace berth::offers
