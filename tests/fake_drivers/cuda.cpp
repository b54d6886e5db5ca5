#include "fake_drivers/cuda.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "card_proof/lanes.hpp"
#include "card_proof/pattern.hpp"
#include "crypto/hash.hpp"
#include "gpu/kernels.hpp"

namespace {

constexpr int out_of_memory = 2;
constexpr int not_found = 100;
constexpr int unknown = 999;
constexpr int attribute_capability = 75;

using Pointer = unsigned long long;

berth::test::FakeCuda state;
std::vector<char*> taken;

// A program that is told of a folder has a card of the usual size. Nobody waits for its memory to
// be written: what it was last filled with is known. A file `dead` in the folder makes it wrong.
class LargeCard {
public:
    LargeCard() {
        const char* const given = std::getenv("BERTH_FAKE_DRIVERS");
        if (given == nullptr) return;
        folder_ = given;
        state.total_bytes = 24'000'000'000;
    }
    bool is_there() const { return !folder_.empty(); }
    std::uint64_t over_words(std::string_view name, Pointer memory, const std::string& with) {
        if (name == "fill") return known_[memory] = with, 0;
        return known_[memory] != with || std::filesystem::exists(folder_ + "/dead") ? 1 : 0;
    }

private:
    std::string folder_;
    std::map<Pointer, std::string> known_;
};
LargeCard large;

std::uint64_t* words_at(Pointer pointer) { return reinterpret_cast<std::uint64_t*>(pointer); }

template <class T>
T parameter(void** parameters, std::size_t index) {
    return *static_cast<T*>(parameters[index]);
}

bool dead(std::uint64_t place) {
    return state.dead_word_every != 0 && place % state.dead_word_every == 0;
}

void over_words(std::string_view name, void** given) {
    if (large.is_there()) {
        std::string with;
        for (std::size_t i = 1; i < 6; ++i)
            with += std::to_string(parameter<std::uint64_t>(given, i)) + " ";
        const auto wrong = large.over_words(name, parameter<Pointer>(given, 0), with);
        if (wrong != 0) *words_at(parameter<Pointer>(given, 6)) += wrong;
        return;
    }
    auto* const words = words_at(parameter<Pointer>(given, 0));
    const auto count = 2 * parameter<std::uint64_t>(given, 1);
    const auto first = parameter<std::uint64_t>(given, 2);
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto word =
            (berth::card_proof::pattern_word(parameter<std::uint64_t>(given, 3), first + i) &
             parameter<std::uint64_t>(given, 4)) ^
            parameter<std::uint64_t>(given, 5);
        if (name == "fill") {
            words[i] = dead(first + i) ? 0x5555 : word;
        } else if (words[i] != word) {
            ++*words_at(parameter<Pointer>(given, 6));
        }
    }
}

void compute(float (*expected)(int), unsigned threads, void** given) {
    auto* const results = reinterpret_cast<float*>(parameter<Pointer>(given, 0));
    std::vector<float> kinds;
    for (int kind = 0; kind < berth::gpu::multiply_add_kinds; ++kind)
        kinds.push_back(expected(kind));
    for (unsigned i = 0; i < threads; ++i) results[i] = kinds[i % kinds.size()];
    if (state.computes_wrong) results[threads - 1] += 1;
}

// ---- The proof of a card: what the kernels of proof_kernels.hpp do

void make_lanes(void** given) {
    const auto count = parameter<std::uint64_t>(given, 2);
    for (std::uint64_t lane = 0; lane < count; ++lane) {
        auto* const words = words_at(words_at(parameter<Pointer>(given, 0))[lane]);
        const std::uint64_t seed = words_at(parameter<Pointer>(given, 1))[lane];
        berth::card_proof::make_lane(seed, {words, parameter<std::uint64_t>(given, 4)});
        if (dead(lane + 1)) words[0] ^= 1;
    }
}

void hash(void** given) {
    const auto count = parameter<std::uint64_t>(given, 2);
    const std::size_t bytes = std::size_t{64} * parameter<unsigned>(given, 3);
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto* const message =
            reinterpret_cast<const char*>(parameter<Pointer>(given, 0) + i * bytes);
        const auto hash = berth::crypto::sha256({message, bytes});
        std::memcpy(words_at(parameter<Pointer>(given, 1) + i * 32), hash.data(), 32);
    }
}

void multiply(unsigned blocks, void** given) {
    const auto* const left = reinterpret_cast<const signed char*>(parameter<Pointer>(given, 0));
    const auto* const right = reinterpret_cast<const signed char*>(parameter<Pointer>(given, 1));
    auto* const into = reinterpret_cast<std::int32_t*>(parameter<Pointer>(given, 2));
    const std::size_t columns = parameter<unsigned>(given, 3);
    const std::size_t depth = parameter<unsigned>(given, 4);
    const std::size_t rows = std::size_t{blocks} * 128 * 128 / columns;
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column) {
            std::int32_t sum = state.computes_wrong ? 1 : 0;
            for (std::size_t k = 0; k < depth; ++k)
                sum += left[row * depth + k] * right[column * depth + k];
            into[row * columns + column] = sum;
        }
}

// A card of the usual size would take hours.
int prove(std::string_view name, unsigned blocks, void** given) {
    if (large.is_there()) return unknown;
    if (name == "make_lanes")
        make_lanes(given);
    else if (name == "sha256")
        hash(given);
    else
        multiply(blocks, given);
    return 0;
}

}  // namespace

extern "C" {

berth::test::FakeCuda* fake_cuda() { return &state; }

int cuInit(unsigned) { return 0; }
int cuGetErrorString(int, const char** text) { return *text = "broken on purpose", 0; }
int cuDeviceGetByPCIBusId(int* device, const char* address) {
    return *device = 0, std::string_view(address) == "0000:01:00.0" ? 0 : not_found;
}
int cuDeviceGetAttribute(int* value, int which, int) {
    return *value = which == attribute_capability ? 9 : large.is_there() ? 16 : 1, 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = state.total_bytes, 0; }
int cuCtxCreate_v2(void** context, unsigned, int) { return *context = &state, state.create_result; }
int cuCtxDestroy_v2(void*) {
    for (char* piece : taken) delete[] piece;
    taken.clear();
    state.allocated = 0;
    return 0;
}
int cuCtxSynchronize() { return 0; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    *total = state.total_bytes;
    *free = state.total_bytes - state.allocated;
    return 0;
}
int cuMemAlloc_v2(Pointer* pointer, std::size_t bytes) {
    // A buffer of the test program for copies is not a part of the card.
    if (bytes < (std::size_t{2} << 20) || bytes == (std::size_t{256} << 20)) {
        taken.push_back(new char[bytes]);
    } else {
        if (state.allocated + bytes > state.total_bytes) return out_of_memory;
        state.allocated += bytes;
        taken.push_back(new char[bytes]);
    }
    return *pointer = reinterpret_cast<Pointer>(taken.back()), 0;
}
int cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
    taken.push_back(new char[bytes]);
    return *pointer = taken.back(), 0;
}
int cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
    // What is copied to be timed is not kept.
    const std::size_t kept = bytes == (std::size_t{256} << 20) ? 4096 : bytes;
    return std::memcpy(words_at(to), from, kept), 0;
}
int cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
    return std::memcpy(to, words_at(from), bytes), 0;
}
int cuMemFree_v2(Pointer) { return 0; }
int cuModuleLoadDataEx(void** module, const void* text, unsigned, int*, void**) {
    const bool ptx = std::string_view(static_cast<const char*>(text)).starts_with("\n.version");
    return *module = &state, ptx ? 0 : unknown;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
    return *function = const_cast<char*>(name), 0;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                   unsigned, unsigned, void*, void** given, void**) {
    const std::string_view name = static_cast<const char*>(function);
    if (name == "multiply_add")
        compute(berth::gpu::multiply_add_result, blocks * threads, given);
    else if (name == "tensor")
        compute(berth::gpu::tensor_result, blocks * threads, given);
    else if (name == "make_lanes" || name == "sha256" || name == "multiply")
        return prove(name, blocks, given);
    else
        over_words(name, given);
    return 0;
}
int cuEventCreate(void** event, unsigned) { return *event = &state, 0; }
int cuEventRecord(void*, void*) { return 0; }
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 2, 0; }
int cuEventDestroy_v2(void*) { return 0; }
}
