// AMD's cards as the kernel's driver shows them in sysfs. They are told of and cannot be wiped.
#pragma once

#include "gpu/gpu.hpp"

namespace berth::gpu {

inline constexpr std::string_view unwipeable =
    "the memory of this vendor's cards cannot be wiped yet";

class Amd {
public:
    explicit Amd(std::string sysfs);

    Inventory inventory() const;
    std::vector<agent_protocol::GpuTelemetry> telemetry() const;

private:
    const std::string sysfs_;
    std::vector<std::string> addresses_;
};

}  // namespace berth::gpu
