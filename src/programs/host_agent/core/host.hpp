// What this host is and how it is: the manifest and the samples that go with heartbeats.
#pragma once

#include <memory>
#include <mutex>

#include "gpu/gpu.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/state_folder.hpp"

namespace berth::host_agent {

agent_protocol::Manifest make_manifest(gpu::Gpus& gpus, Runtime& runtime,
                                       std::optional<agent_protocol::GateWish> gate);

struct DiskSpace {
    std::int64_t total_bytes = 0;
    std::int64_t free_bytes = 0;
};
std::optional<DiskSpace> disk_space(const std::string& folder);
std::optional<std::int64_t> ram_bytes();  // of the host
std::int64_t cpu_cores();

// Samples of telemetry; rates are counted between one and the next.
class Sampler {
public:
    Sampler(gpu::Gpus& gpus, const BootClock& clock, std::string folder)
        : gpus_(gpus), clock_(clock), folder_(std::move(folder)) {}

    agent_protocol::Telemetry take();

private:
    struct Counts {
        Duration at{};
        std::int64_t cpu_busy = 0;
        std::int64_t cpu_all = 0;
        std::int64_t rx_bytes = 0;
        std::int64_t tx_bytes = 0;
    };
    Counts count() const;

    gpu::Gpus& gpus_;
    const BootClock& clock_;
    const std::string folder_;
    std::optional<Counts> before_;
};

}  // namespace berth::host_agent
