// Whether a machine can run a template: the vectors that every client's own copy must agree with.
#include "offers/fit.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace berth::offers {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::int64_t vram_4090 = 25'757'220'864;  // less than 24 GiB, more than 24 GB
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

FitMachine one_4090() {
    return {.inference_only = false,
            .backends = bit_of(Backend::cuda),
            .gpu_count = 1,
            .vram_bytes = vram_4090,
            .cuda_max = parse_version("12.8")};
}

// Eight billion parameters in bf16 with 131,072 bytes of KV a token.
FitNeeds model_8b(std::int64_t tokens) {
    return {.is_model = true,
            .splits = true,
            .runtime = Backend::cuda,
            .min_gpu_count = 1,
            .min_vram_bytes = 24'000'000'000,
            .weights_bytes = 16'060'000'000,
            .kv_bytes_per_1k_tokens = 131'072'000,
            .max_model_len = tokens,
            .min_cuda = {}};
}

TEST(Fits, AnEightBillionModelOnA4090FitsWithEightThousandTokensAndNotWithAHundredThirtyThousand) {
    const Fit small = fit(one_4090(), model_8b(8192));
    EXPECT_TRUE(small.fits());
    // have 24,469,359,820; need 16,060,000,000 + 9 * 131,072,000 + 1 GiB + 512 MiB
    EXPECT_EQ(small.headroom_bytes,
              24'469'359'820 - 16'060'000'000 - 9 * 131'072'000 - gib - gib / 2);
    const Fit large = fit(one_4090(), model_8b(131'072));
    EXPECT_EQ(large.reason, FitReason::vram);
    EXPECT_EQ(large.headroom_bytes, 0);
}

TEST(Fits, AClassFloorIsDecimalSoThatA4090IsA24GbCard) {
    FitNeeds needs = model_8b(8192);
    EXPECT_TRUE(fit(one_4090(), needs).fits());
    needs.min_vram_bytes = 24 * gib;
    EXPECT_EQ(fit(one_4090(), needs).reason, FitReason::vram);
}

TEST(Fits, TheFirstCheckThatFailsIsTheReason) {
    FitMachine machine = one_4090();
    machine.inference_only = true;
    machine.backends = 0;
    machine.gpu_count = 0;
    machine.vram_bytes.reset();
    machine.cuda_max = parse_version("12.4");
    FitNeeds needs = model_8b(131'072);
    needs.is_model = false;
    needs.min_cuda = parse_version("12.8");
    const auto reason = [&] { return fit(machine, needs).reason; };
    EXPECT_EQ(reason(), FitReason::tier);
    needs.is_model = true;
    EXPECT_EQ(reason(), FitReason::runtime);
    machine.backends = bit_of(Backend::cuda) | bit_of(Backend::vulkan);
    EXPECT_EQ(reason(), FitReason::gpu_count);
    machine.gpu_count = 1;
    EXPECT_EQ(reason(), FitReason::vram_unmeasured);
    machine.vram_bytes = vram_4090;
    EXPECT_EQ(reason(), FitReason::driver);
    machine.cuda_max.reset();
    EXPECT_EQ(reason(), FitReason::driver) << "an unknown version is a lower one";
    machine.cuda_max = parse_version("12.10");
    EXPECT_EQ(reason(), FitReason::vram) << "12.10 is newer than 12.8";
    needs.max_model_len = 8192;
    EXPECT_EQ(reason(), std::nullopt);
}

TEST(Fits, AnEngineThatSplitsUsesTheLargestPowerOfTwo) {
    FitMachine machine = one_4090();
    FitNeeds needs = model_8b(8192);
    needs.weights_bytes = 60'000'000'000;  // need with g GPUs: 64,253,... + g * 512 MiB
    for (const auto& [gpus, fits] :
         {std::pair{1, false}, {2, false}, {3, false}, {4, true}, {7, true}, {8, true}}) {
        machine.gpu_count = gpus;
        EXPECT_EQ(fit(machine, needs).fits(), fits) << gpus;
    }
    machine.gpu_count = 8;
    needs.splits = false;
    EXPECT_EQ(fit(machine, needs).reason, FitReason::vram);
    needs.splits = true;
    needs.is_model = false;
    EXPECT_EQ(fit(machine, needs).reason, FitReason::vram) << "memory is pooled for models only";
}

TEST(Fits, ASingleGpuIsPreferredWhereItIsEnough) {
    FitMachine machine = one_4090();
    machine.gpu_count = 4;
    EXPECT_EQ(fit(machine, model_8b(8192)).headroom_bytes,
              fit(one_4090(), model_8b(8192)).headroom_bytes);
}

TEST(Fits, WithoutWeightsOnlyTheFloorCounts) {
    FitNeeds needs{.min_vram_bytes = vram_4090};
    EXPECT_TRUE(fit(one_4090(), needs).fits());
    EXPECT_EQ(fit(one_4090(), needs).headroom_bytes, 0);
    needs.min_vram_bytes = vram_4090 + 1;
    EXPECT_EQ(fit(one_4090(), needs).reason, FitReason::vram);
}

TEST(Fits, ActivationsAreATwentiethOfTheWeightsOrAGibibyte) {
    FitMachine machine = one_4090();
    FitNeeds needs{.is_model = true, .weights_bytes = 40 * gib};
    machine.vram_bytes = 100 * gib;
    EXPECT_EQ(fit(machine, needs).headroom_bytes, 95 * gib - 40 * gib - 2 * gib - gib / 2);
    needs.weights_bytes = 10 * gib;
    EXPECT_EQ(fit(machine, needs).headroom_bytes, 95 * gib - 10 * gib - gib - gib / 2);
}

TEST(Fits, NoNumberOverflows) {
    FitMachine machine = one_4090();
    machine.vram_bytes = most;
    machine.gpu_count = most;
    FitNeeds needs{.is_model = true,
                   .splits = true,
                   .min_gpu_count = most,
                   .min_vram_bytes = most,
                   .weights_bytes = most,
                   .kv_bytes_per_1k_tokens = most,
                   .max_model_len = most};
    EXPECT_EQ(fit(machine, needs).headroom_bytes, most) << "as many GPUs have room enough";
    EXPECT_EQ(smallest_vram_bytes(needs), most);
    needs.min_gpu_count = machine.gpu_count = 1;
    EXPECT_EQ(fit(machine, needs).reason, FitReason::vram);
    EXPECT_EQ(smallest_vram_bytes(needs), most);
}

TEST(Fits, TheSmallestCardIsJustEnough) {
    for (const std::int64_t weights :
         {std::int64_t{0}, std::int64_t{1}, 16'060'522'496, 145'412'407'296})
        for (const std::int64_t gpus : {1, 2, 3, 4, 8}) {
            FitNeeds needs = model_8b(8192);
            needs.min_vram_bytes = 1000;
            needs.weights_bytes = weights;
            needs.min_gpu_count = gpus;
            FitMachine machine = one_4090();
            machine.gpu_count = gpus;
            machine.vram_bytes = smallest_vram_bytes(needs);
            EXPECT_TRUE(fit(machine, needs).fits()) << weights << " on " << gpus;
            machine.vram_bytes = *machine.vram_bytes - 1;
            EXPECT_EQ(fit(machine, needs).reason, FitReason::vram) << weights << " on " << gpus;
        }
}

TEST(Fits, BackendsAndVersionsAreReadFromText) {
    EXPECT_EQ(backend_bits("cuda,vulkan"), bit_of(Backend::cuda) | bit_of(Backend::vulkan));
    EXPECT_EQ(backend_bits(""), 0);
    EXPECT_EQ(backend_bits(",,opencl,CUDA"), 0);
    EXPECT_LT(parse_version("12.8"), parse_version("12.10"));
    EXPECT_LT(parse_version("12"), parse_version("12.1"));
    for (const char* text :
         {"", ".", "12.", ".8", "12.8.1", "a.b", "-1.0", "12.08", "1e3", "99999999.1"})
        EXPECT_FALSE(parse_version(text)) << text;
    EXPECT_TRUE(engine_splits("vllm") && engine_splits("llama.cpp") && engine_splits("tgi"));
    EXPECT_FALSE(engine_splits("ollama") || engine_splits("VLLM") || engine_splits(""));
}

}  // namespace
}  // namespace berth::offers
