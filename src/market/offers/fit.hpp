// Whether a machine can run a template: one pure function of whole numbers, used by the catalog, by
// quotes and by the console. It only knows numbers, so that a catalog can ask it a million times.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::offers {

// What a device can be programmed with.
enum class Backend : std::uint8_t { cuda, rocm, sycl, vulkan, metal };
BOOST_DESCRIBE_ENUM(Backend, cuda, rocm, sycl, vulkan, metal)

using BackendBits = std::uint8_t;
constexpr BackendBits bit_of(Backend backend) {
    return static_cast<BackendBits>(1U << static_cast<unsigned>(backend));
}
// Of comma-separated names; unknown ones are passed over.
BackendBits backend_bits(std::string_view names);

// "12.8" as a number that sorts as versions do; empty when it is no such text.
std::optional<std::int64_t> parse_version(std::string_view text);

// The first check that fails, in the order in which they are made.
enum class FitReason { tier, runtime, gpu_count, vram_unmeasured, driver, vram };
BOOST_DESCRIBE_ENUM(FitReason, tier, runtime, gpu_count, vram_unmeasured, driver, vram)

struct FitMachine {
    bool inference_only = false;  // tier inference
    BackendBits backends = 0;
    std::int64_t gpu_count = 0;
    std::optional<std::int64_t> vram_bytes = {};  // of one GPU, measured
    std::optional<std::int64_t> cuda_max = {};    // parse_version()
};

struct FitNeeds {
    bool is_model = false;  // kind model
    bool splits = false;    // its engine spreads a model over GPUs
    Backend runtime = Backend::cuda;
    std::int64_t min_gpu_count = 1;
    std::int64_t min_vram_bytes = 0;  // of one GPU
    std::int64_t weights_bytes = 0;   // 0: nothing is computed
    std::int64_t kv_bytes_per_1k_tokens = 0;
    std::optional<std::int64_t> max_model_len = {};
    std::optional<std::int64_t> min_cuda = {};  // parse_version()
};

struct Fit {
    std::optional<FitReason> reason;  // none: it fits
    std::int64_t headroom_bytes = 0;  // that would stay free; 0 where it does not fit

    bool fits() const { return !reason; }
};

Fit fit(const FitMachine& machine, const FitNeeds& needs);

// The smallest GPU, min_gpu_count of them, whose memory is enough.
std::int64_t smallest_vram_bytes(const FitNeeds& needs);

// Whether an engine of this name spreads a model over several GPUs.
bool engine_splits(std::string_view engine);

}  // namespace berth::offers
