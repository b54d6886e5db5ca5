// NVIDIA's cards as the driver's own library tells of them. Every question may be answered with
// "not supported", and old cards answer some with all bits set: both become absence.
#pragma once

#include <map>
#include <shared_mutex>

#include "gpu/gpu.hpp"
#include "gpu/library.hpp"

namespace berth::gpu {

class Nvml {
public:
    explicit Nvml(const char* library);
    ~Nvml();

    // Empty without the library, or while it does not start: that is tried again each time.
    Inventory inventory();
    std::vector<agent_protocol::GpuTelemetry> telemetry() const;
    std::vector<Health> health();
    std::vector<User> users() const;

private:
    struct Device;
    using Handle = void*;
    struct Functions;

    void start();
    void stop();
    void look_for_driver();
    void find_devices();
    void watch(Handle device);
    void look_for_lost(std::vector<Health>& found);

    Library library_;
    std::unique_ptr<Functions> call_;
    mutable std::shared_mutex mutex_;  // whole while cards are looked for, else shared
    bool is_started_ = false;
    std::map<std::string, Handle> devices_;  // by bus address
    std::map<std::string, bool> lost_;       // and whether that was told
    Handle events_ = nullptr;
};

}  // namespace berth::gpu
