// One NVIDIA card through the driver's own programming interface, for the time of one child
// process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/library.hpp"

namespace berth::gpu {

class CudaError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

using DevicePointer = unsigned long long;

// A piece of a card's memory, and the number of its first word in the pattern.
struct Stretch {
    DevicePointer memory = 0;
    std::uint64_t bytes = 0;
    std::uint64_t first = 0;
};

// What words are compared with or filled with; see kernels.hpp.
struct Words {
    std::uint64_t seed = 0;
    std::uint64_t mask = 0;
    std::uint64_t base = 0;
};

class Cuda {
public:
    // Throws CudaError, like everything here, when the card cannot be used.
    Cuda(const std::string& pci_address, const char* library);
    ~Cuda();

    std::uint64_t total_bytes() const;
    std::uint64_t free_bytes() const;

    // All that can be had up to `bytes_max`, in pieces of falling size, numbered through. It is
    // given back with the Cuda.
    std::vector<Stretch> take_memory(std::uint64_t bytes_max);

    void fill(std::span<const Stretch> all, const Words& words);
    std::uint64_t count_wrong(std::span<const Stretch> all, const Words& words);

    // Billions of bytes a second: of reading and comparing a stretch; of a copy from the host.
    double read_rate(const Stretch& stretch, const Words& words);
    double host_to_card_rate();

    // 10^12 operations a second, and whether every thread found what it had to.
    struct Arithmetic {
        double tflops = 0;
        bool right = false;
    };
    Arithmetic multiply_add();
    bool has_tensor_cores() const;
    Arithmetic tensor();

    // For who works with kernels of its own. Memory is given back with the Cuda at the latest.
    DevicePointer take(std::uint64_t bytes);
    void give_back(DevicePointer memory);
    void write(DevicePointer to, std::string_view bytes);
    std::string read(DevicePointer from, std::uint64_t bytes);
    void* load(const std::string& text, const char* name);
    void launch(void* function, std::span<void*> parameters, unsigned blocks, unsigned threads);
    void finish(const char* what);  // of all that was started

private:
    struct Functions;
    struct Launch {
        std::string text;
        const char* name;
        double operations;  // of one thread
        float (*expected)(int thread);
    };

    void check(int result, const char* what) const;
    double seconds(const std::function<void()>& work);
    int attribute(int which) const;
    Arithmetic run_arithmetic(const Launch& launch);

    Library library_;
    std::unique_ptr<Functions> call_;
    int device_ = 0;
    void* context_ = nullptr;
    void* fill_ = nullptr;
    void* count_wrong_ = nullptr;
    DevicePointer wrongs_ = 0;
};

}  // namespace berth::gpu
