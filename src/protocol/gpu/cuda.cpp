#include "gpu/cuda.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/kernels.hpp"

namespace berth::gpu {
namespace {

// Of cuda.h.
constexpr int cuda_success = 0;
constexpr int multiprocessors = 16;
constexpr int capability_major = 75;
constexpr int jit_error_log = 5;
constexpr int jit_error_log_bytes = 6;

constexpr std::uint64_t piece_bytes_max = std::uint64_t{4} << 30;
constexpr std::uint64_t piece_bytes_min = std::uint64_t{2} << 20;
constexpr std::uint64_t copied_bytes = std::uint64_t{256} << 20;
constexpr unsigned threads_in_block = 256;
constexpr unsigned blocks_a_processor = 8;
constexpr int repetitions = 4;  // the best of them counts: the first finds the card asleep
constexpr double giga = 1e9;
constexpr double tera = 1e12;

}  // namespace

struct Cuda::Functions {
    explicit Functions(const Library& from)
        : init(need<int(unsigned)>(from, "cuInit")),
          error_text(need<int(int, const char**)>(from, "cuGetErrorString")),
          by_address(need<int(int*, const char*)>(from, "cuDeviceGetByPCIBusId")),
          attribute(need<int(int*, int, int)>(from, "cuDeviceGetAttribute")),
          total(need<int(std::size_t*, int)>(from, "cuDeviceTotalMem_v2")),
          create(need<int(void**, unsigned, int)>(from, "cuCtxCreate_v2")),
          destroy(need<int(void*)>(from, "cuCtxDestroy_v2")),
          synchronize(need<int()>(from, "cuCtxSynchronize")),
          memory_info(need<int(std::size_t*, std::size_t*)>(from, "cuMemGetInfo_v2")),
          allocate(need<int(DevicePointer*, std::size_t)>(from, "cuMemAlloc_v2")),
          allocate_host(need<int(void**, std::size_t)>(from, "cuMemAllocHost_v2")),
          to_card(need<int(DevicePointer, const void*, std::size_t)>(from, "cuMemcpyHtoD_v2")),
          to_host(need<int(void*, DevicePointer, std::size_t)>(from, "cuMemcpyDtoH_v2")),
          free(need<int(DevicePointer)>(from, "cuMemFree_v2")),
          load(need<int(void**, const void*, unsigned, int*, void**)>(from, "cuModuleLoadDataEx")),
          function(need<int(void**, void*, const char*)>(from, "cuModuleGetFunction")),
          launch(need<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void*, void**, void**)>(from, "cuLaunchKernel")),
          create_event(need<int(void**, unsigned)>(from, "cuEventCreate")),
          record(need<int(void*, void*)>(from, "cuEventRecord")),
          wait_event(need<int(void*)>(from, "cuEventSynchronize")),
          elapsed(need<int(float*, void*, void*)>(from, "cuEventElapsedTime")),
          destroy_event(need<int(void*)>(from, "cuEventDestroy_v2")) {}

    template <class Function>
    static Function* need(const Library& from, const char* name) {
        auto* const found = from.find<Function>(name);
        if (found == nullptr)
            throw CudaError(from.loaded() ? fmt::format("the CUDA driver has no {}", name)
                                          : from.why_not());
        return found;
    }

    int (*init)(unsigned);
    int (*error_text)(int, const char**);
    int (*by_address)(int*, const char*);
    int (*attribute)(int*, int, int);
    int (*total)(std::size_t*, int);
    int (*create)(void**, unsigned, int);
    int (*destroy)(void*);
    int (*synchronize)();
    int (*memory_info)(std::size_t*, std::size_t*);
    int (*allocate)(DevicePointer*, std::size_t);
    int (*allocate_host)(void**, std::size_t);
    int (*to_card)(DevicePointer, const void*, std::size_t);
    int (*to_host)(void*, DevicePointer, std::size_t);
    int (*free)(DevicePointer);
    int (*load)(void**, const void*, unsigned, int*, void**);
    int (*function)(void**, void*, const char*);
    int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void*, void**, void**);
    int (*create_event)(void**, unsigned);
    int (*record)(void*, void*);
    int (*wait_event)(void*);
    int (*elapsed)(float*, void*, void*);
    int (*destroy_event)(void*);
};

Cuda::Cuda(const std::string& pci_address, const char* library)
    : library_(library), call_(std::make_unique<Functions>(library_)) {
    check(call_->init(0), "starting the driver");
    check(call_->by_address(&device_, pci_address.c_str()), "finding the card");
    check(call_->create(&context_, 0, device_), "opening the card");
    const auto text = memory_kernels();
    fill_ = load(text, "fill");
    count_wrong_ = load(text, "count_wrong");
    check(call_->allocate(&wrongs_, sizeof(std::uint64_t)), "taking memory");
}

// With the context go its memory, modules and events.
Cuda::~Cuda() {
    if (context_ != nullptr) call_->destroy(context_);
}

void Cuda::check(int result, const char* what) const {
    if (result == cuda_success) return;
    const char* text = nullptr;
    call_->error_text(result, &text);
    throw CudaError(
        fmt::format("{} failed: {} ({})", what, text == nullptr ? "unknown error" : text, result));
}

std::uint64_t Cuda::total_bytes() const {
    std::size_t total = 0;
    check(call_->total(&total, device_), "asking for the memory's size");
    return total;
}

std::uint64_t Cuda::free_bytes() const {
    std::size_t free = 0;
    std::size_t total = 0;
    check(call_->memory_info(&free, &total), "asking for free memory");
    return free;
}

std::vector<Stretch> Cuda::take_memory(std::uint64_t bytes_max) {
    std::vector<Stretch> taken;
    std::uint64_t sum = 0;
    for (auto piece = piece_bytes_max; piece >= piece_bytes_min; piece /= 2) {
        DevicePointer memory = 0;
        while (sum + piece <= bytes_max && call_->allocate(&memory, piece) == cuda_success) {
            taken.push_back({.memory = memory, .bytes = piece, .first = sum / sizeof(sum)});
            sum += piece;
        }
    }
    return taken;
}

void* Cuda::load(const std::string& text, const char* name) {
    void* module = nullptr;
    std::array<char, 512> log{};
    std::array<int, 2> options{jit_error_log, jit_error_log_bytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
    check(call_->load(&module, text.c_str(), options.size(), options.data(), values.data()),
          log[0] == '\0' ? "compiling a kernel" : log.data());
    void* function = nullptr;
    check(call_->function(&function, module, name), "finding a kernel");
    return function;
}

void Cuda::launch(void* function, std::span<void*> parameters, unsigned blocks, unsigned threads) {
    check(call_->launch(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters.data(),
                        nullptr),
          "starting a kernel");
}

DevicePointer Cuda::take(std::uint64_t bytes) {
    DevicePointer memory = 0;
    check(call_->allocate(&memory, bytes), "taking memory");
    return memory;
}

void Cuda::give_back(DevicePointer memory) { check(call_->free(memory), "giving memory back"); }

void Cuda::write(DevicePointer to, std::string_view bytes) {
    check(call_->to_card(to, bytes.data(), bytes.size()), "copying to the card");
}

std::string Cuda::read(DevicePointer from, std::uint64_t bytes) {
    std::string found(bytes, '\0');
    check(call_->to_host(found.data(), from, bytes), "reading memory back");
    return found;
}

void Cuda::finish(const char* what) { check(call_->synchronize(), what); }

int Cuda::attribute(int which) const {
    int value = 0;
    check(call_->attribute(&value, which, device_), "asking for an attribute");
    return value;
}

void Cuda::fill(std::span<const Stretch> all, const Words& words) {
    const auto blocks = static_cast<unsigned>(attribute(multiprocessors)) * blocks_a_processor;
    for (auto stretch : all) {
        auto given = words;
        std::uint64_t pairs = stretch.bytes / 16;
        std::array<void*, 6> parameters{&stretch.memory, &pairs,      &stretch.first,
                                        &given.seed,     &given.mask, &given.base};
        launch(fill_, parameters, blocks, threads_in_block);
    }
    check(call_->synchronize(), "filling memory");
}

std::uint64_t Cuda::count_wrong(std::span<const Stretch> all, const Words& words) {
    const auto blocks = static_cast<unsigned>(attribute(multiprocessors)) * blocks_a_processor;
    std::uint64_t wrong = 0;
    check(call_->to_card(wrongs_, &wrong, sizeof wrong), "copying to the card");
    for (auto stretch : all) {
        auto given = words;
        std::uint64_t pairs = stretch.bytes / 16;
        std::array<void*, 7> parameters{&stretch.memory, &pairs,      &stretch.first, &given.seed,
                                        &given.mask,     &given.base, &wrongs_};
        launch(count_wrong_, parameters, blocks, threads_in_block);
    }
    check(call_->to_host(&wrong, wrongs_, sizeof wrong), "reading memory back");
    return wrong;
}

double Cuda::seconds(const std::function<void()>& work) {
    void* begin = nullptr;
    void* end = nullptr;
    check(call_->create_event(&begin, 0), "making a timer");
    check(call_->create_event(&end, 0), "making a timer");
    check(call_->record(begin, nullptr), "timing");
    work();
    check(call_->record(end, nullptr), "timing");
    check(call_->wait_event(end), "timing");
    float milliseconds = 0;
    check(call_->elapsed(&milliseconds, begin, end), "timing");
    call_->destroy_event(begin);
    call_->destroy_event(end);
    return static_cast<double>(milliseconds) / 1e3;
}

double Cuda::read_rate(const Stretch& stretch, const Words& words) {
    double best = 0;
    for (int i = 0; i < repetitions; ++i) {
        const double took = seconds([&] { count_wrong({&stretch, 1}, words); });
        best = std::max(best, static_cast<double>(stretch.bytes) / took / giga);
    }
    return best;
}

double Cuda::host_to_card_rate() {
    void* host = nullptr;
    DevicePointer card = 0;
    check(call_->allocate_host(&host, copied_bytes), "taking host memory");
    check(call_->allocate(&card, copied_bytes), "taking memory");
    double best = 0;
    for (int i = 0; i < repetitions; ++i) {
        const double took = seconds(
            [&] { check(call_->to_card(card, host, copied_bytes), "copying to the card"); });
        best = std::max(best, static_cast<double>(copied_bytes) / took / giga);
    }
    call_->free(card);
    return best;
}

Cuda::Arithmetic Cuda::multiply_add() {
    return run_arithmetic({.text = arithmetic_kernels(),
                           .name = "multiply_add",
                           .operations = 2.0 * multiply_add_rounds * multiply_add_chains,
                           .expected = multiply_add_result});
}

bool Cuda::has_tensor_cores() const { return attribute(capability_major) >= 8; }

// A warp of 32 threads multiplies tiles of 16 by 16 and 16 by 8.
Cuda::Arithmetic Cuda::tensor() {
    return run_arithmetic({.text = tensor_kernels(),
                           .name = "tensor",
                           .operations = 2.0 * 16 * 16 * 8 / 32 * tensor_rounds * tensor_chains,
                           .expected = tensor_result});
}

Cuda::Arithmetic Cuda::run_arithmetic(const Launch& what) {
    void* const function = load(what.text, what.name);
    const auto blocks = static_cast<unsigned>(attribute(multiprocessors)) * blocks_a_processor * 4;
    std::vector<float> found(std::size_t{blocks} * threads_in_block);
    DevicePointer results = 0;
    check(call_->allocate(&results, found.size() * sizeof(float)), "taking memory");
    std::array<void*, 1> parameters{&results};
    Arithmetic arithmetic;
    for (int i = 0; i < repetitions; ++i) {
        const double took =
            seconds([&] { launch(function, parameters, blocks, threads_in_block); });
        arithmetic.tflops = std::max(
            arithmetic.tflops, what.operations * static_cast<double>(found.size()) / took / tera);
    }
    check(call_->to_host(found.data(), results, found.size() * sizeof(float)), "reading results");
    call_->free(results);
    std::vector<float> expected;
    for (int thread = 0; thread < multiply_add_kinds; ++thread)
        expected.push_back(what.expected(thread));
    arithmetic.right = true;
    for (std::size_t i = 0; i < found.size(); ++i)
        arithmetic.right = arithmetic.right && found[i] == expected[i % expected.size()];
    return arithmetic;
}

}  // namespace berth::gpu
