// The child process that works on one card with CUDA.
#include <charconv>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "gpu/cuda.hpp"
#include "gpu/gpu.hpp"
#include "gpu/prover.hpp"
#include "wire/wire.hpp"

namespace berth::gpu {
namespace {

constexpr std::uint64_t whole_word = ~std::uint64_t{0};
// Of what is free, the machine test's pattern covers this much: more than the 90 % that are asked
// for, as memory is had in pieces.
constexpr std::uint64_t tested_percent = 92;

wire::Decimal decimal(std::uint64_t number) { return {static_cast<std::int64_t>(number)}; }

std::uint64_t sum_of(const std::vector<Stretch>& all) {
    std::uint64_t bytes = 0;
    for (const auto& stretch : all) bytes += stretch.bytes;
    return bytes;
}

Wipe wipe(Cuda& cuda, const std::string& address, std::uint64_t seed) {
    const auto began = std::chrono::steady_clock::now();
    const auto memory = cuda.take_memory(cuda.total_bytes());
    std::uint64_t wrong = 0;
    for (const Words& words : {Words{.seed = seed, .mask = whole_word}, Words{}}) {
        cuda.fill(memory, words);
        wrong += cuda.count_wrong(memory, words);
    }
    const auto took = std::chrono::steady_clock::now() - began;
    Wipe wipe;
    wipe.pci_address = {address};
    wipe.total_bytes = decimal(cuda.total_bytes());
    wipe.wiped_bytes = decimal(sum_of(memory));
    const auto wrong_bytes = std::min(sum_of(memory), wrong * sizeof(std::uint64_t));
    wipe.verified_bytes = decimal(sum_of(memory) - wrong_bytes);
    wipe.milliseconds = {std::chrono::duration_cast<std::chrono::milliseconds>(took).count()};
    return wipe;
}

Measurement measure(Cuda& cuda, const std::string& address, std::uint64_t seed) {
    Measurement measured;
    measured.pci_address = {address};
    measured.vram_bytes = decimal(cuda.total_bytes());
    measured.free_bytes = decimal(cuda.free_bytes());
    const auto fp32 = cuda.multiply_add();
    measured.fp32_tflops = fp32.tflops;
    measured.results_right = fp32.right;
    if (cuda.has_tensor_cores()) {
        const auto tensor = cuda.tensor();
        measured.tensor_tflops = tensor.tflops;
        measured.results_right = fp32.right && tensor.right;
    }
    measured.pcie_gbps = cuda.host_to_card_rate();
    const Words words{.seed = seed, .mask = whole_word};
    const auto memory = cuda.take_memory(cuda.free_bytes() / 100 * tested_percent);
    cuda.fill(memory, words);
    measured.pattern_bytes = decimal(sum_of(memory));
    measured.mismatches = decimal(cuda.count_wrong(memory, words));
    if (!memory.empty()) measured.mem_bw_gbps = cuda.read_rate(memory.front(), words);
    return measured;
}

// For looking at a wipe from outside: one word is written everywhere and left there, or looked for.
struct Planted {
    wire::Decimal bytes;
    wire::Decimal words_found;
};
BOOST_DESCRIBE_STRUCT(Planted, (), (bytes, words_found))

Planted plant_or_look(Cuda& cuda, std::uint64_t word, bool plant) {
    const auto memory = cuda.take_memory(cuda.total_bytes());
    const Words words{.base = word};
    if (plant) cuda.fill(memory, words);
    const auto all = sum_of(memory);
    return {.bytes = decimal(all),
            .words_found = decimal(all / sizeof(word) - cuda.count_wrong(memory, words))};
}

std::string carry_out(const std::string& task, const std::string& address, std::uint64_t seed,
                      const char* library) {
    Cuda cuda(address, library);
    if (task == "wipe") return wire::encode(wipe(cuda, address, seed));
    if (task == "measure") return wire::encode(measure(cuda, address, seed));
    if (task == "plant") return wire::encode(plant_or_look(cuda, seed, true));
    if (task == "look") return wire::encode(plant_or_look(cuda, seed, false));
    throw CudaError(fmt::format("no task is called {}", task));
}

}  // namespace

int run_worker(const std::vector<std::string>& arguments, const char* cuda) {
    std::uint64_t seed = 0;
    if (arguments.size() != 3 ||
        std::from_chars(arguments[2].data(), arguments[2].data() + arguments[2].size(), seed).ec !=
            std::errc{}) {
        fmt::print(
            stderr,
            "usage: wipe|measure|plant|look BUS-ADDRESS SEED, or prove BUS-ADDRESS NUMBER\n");
        return 2;
    }
    try {
        if (arguments[0] == "prove") return run_prover(arguments[1], seed, cuda);
        fmt::print("{}\n", carry_out(arguments[0], arguments[1], seed, cuda));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}

}  // namespace berth::gpu
