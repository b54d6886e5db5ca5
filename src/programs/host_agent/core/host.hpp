// What this host is and how it is: the manifest and the samples that go with heartbeats.
#pragma once

#include <memory>
#include <mutex>

#include "gpu/gpu.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/slot_group.hpp"
#include "host_agent/core/state_folder.hpp"

namespace berth::host_agent {

agent_protocol::Manifest make_manifest(gpu::Gpus& gpus, Runtime& runtime, const Settings& settings);

struct DiskSpace {
    std::int64_t total_bytes = 0;
    std::int64_t free_bytes = 0;
};
std::optional<DiskSpace> disk_space(const std::string& folder);
// What is left of a disk of that size: a host whose disk is full does nothing well, its owner's own
// work included.
std::int64_t disk_floor(std::int64_t total_bytes);
std::optional<std::int64_t> ram_bytes();  // of the host
std::int64_t cpu_cores();
// Of the machine: a slot has its share of the host, and any other has all of it.
std::optional<std::int64_t> ram_bytes(const Settings& settings);
std::int64_t cpu_cores(const Settings& settings);

// Samples of telemetry; rates are counted between one and the next. Those of a slot tell of the
// slot alone: what its neighbours do is not its renter's to see.
class Sampler {
public:
    Sampler(gpu::Gpus& gpus, const BootClock& clock, std::string folder, std::optional<Share> share)
        : gpus_(gpus), clock_(clock), folder_(std::move(folder)), share_(std::move(share)) {}

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
    void take_of_host(agent_protocol::Telemetry& sample);
    void take_of_slot(agent_protocol::Telemetry& sample);

    gpu::Gpus& gpus_;
    const BootClock& clock_;
    const std::string folder_;
    const std::optional<Share> share_;
    std::optional<Counts> before_;
};

}  // namespace berth::host_agent
