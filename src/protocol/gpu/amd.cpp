#include "gpu/amd.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace berth::gpu {
namespace {

using agent_protocol::Backend;
using agent_protocol::GpuTelemetry;
using agent_protocol::ManifestGpu;

namespace fs = std::filesystem;

constexpr std::string_view vendor_id = "0x1002";

std::optional<std::string> read_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line) || line.empty()) return std::nullopt;
    return line;
}

std::optional<std::int64_t> read_number(const fs::path& path) {
    const auto line = read_line(path);
    std::int64_t number = 0;
    if (!line ||
        std::from_chars(line->data(), line->data() + line->size(), number).ec != std::errc{})
        return std::nullopt;
    return number;
}

std::optional<double> read_scaled(const fs::path& path, double scale) {
    const auto number = read_number(path);
    return number ? std::optional(static_cast<double>(*number) * scale) : std::nullopt;
}

std::optional<wire::Decimal> read_bytes(const fs::path& path) {
    const auto number = read_number(path);
    if (!number || *number < 0) return std::nullopt;
    return wire::Decimal{*number};
}

// The sensors of a device are in the one folder below hwmon.
fs::path sensors_of(const fs::path& device) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(device / "hwmon", ignored)) return entry.path();
    return device / "hwmon";
}

}  // namespace

Amd::Amd(std::string sysfs) : sysfs_(std::move(sysfs)) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(sysfs_ + "/bus/pci/drivers/amdgpu", ignored)) {
        if (read_line(entry.path() / "vendor") == vendor_id)
            addresses_.push_back(entry.path().filename().string());
    }
    std::ranges::sort(addresses_);
}

Inventory Amd::inventory() const {
    Inventory found;
    if (addresses_.empty()) return found;
    found.driver_version = read_line(sysfs_ + "/module/amdgpu/version");
    for (const auto& address : addresses_) {
        const auto device = fs::path(sysfs_) / "bus/pci/drivers/amdgpu" / address;
        ManifestGpu gpu;
        gpu.pci_address = {address};
        gpu.vendor = {"AMD"};
        if (const auto name = read_line(device / "product_name"))
            gpu.model = wire::Text<1, 200>{*name};
        if (const auto bytes = read_bytes(device / "mem_info_vram_total"))
            gpu.memory_bytes = *bytes;
        if (const auto id = read_line(device / "unique_id")) gpu.uuid = wire::Text<1, 128>{*id};
        gpu.backends = {{Backend::rocm, Backend::vulkan}};
        found.unfit.emplace(address, unwipeable);
        found.gpus.push_back(std::move(gpu));
    }
    return found;
}

std::vector<GpuTelemetry> Amd::telemetry() const {
    std::vector<GpuTelemetry> all;
    for (const auto& address : addresses_) {
        const auto device = fs::path(sysfs_) / "bus/pci/drivers/amdgpu" / address;
        const auto sensors = sensors_of(device);
        GpuTelemetry gpu;
        gpu.pci_address = wire::Text<1, 64>{address};
        gpu.util_pct = read_scaled(device / "gpu_busy_percent", 1);
        gpu.memory_util_pct = read_scaled(device / "mem_busy_percent", 1);
        gpu.memory_used_bytes = read_bytes(device / "mem_info_vram_used");
        gpu.memory_total_bytes = read_bytes(device / "mem_info_vram_total");
        gpu.temperature_c = read_scaled(sensors / "temp1_input", 1e-3);
        gpu.power_w = read_scaled(sensors / "power1_average", 1e-6);
        gpu.power_limit_w = read_scaled(sensors / "power1_cap", 1e-6);
        gpu.sm_clock_mhz = read_scaled(sensors / "freq1_input", 1e-6);
        gpu.mem_clock_mhz = read_scaled(sensors / "freq2_input", 1e-6);
        gpu.fan_pct = read_scaled(sensors / "pwm1", 100.0 / 255);
        all.push_back(std::move(gpu));
    }
    return all;
}

}  // namespace berth::gpu
