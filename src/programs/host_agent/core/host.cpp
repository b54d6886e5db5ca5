#include "host_agent/core/host.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace berth::host_agent {
namespace {

// "model name : AMD EPYC 7763": the first such line; empty where the processor has no name.
std::optional<std::string> cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
    return std::nullopt;
}

template <class T>
wire::Nullable<T> text_or_null(std::optional<std::string> text) {
    if (!text || text->empty()) return std::nullopt;
    return T{std::move(*text)};
}

// A line of /proc/meminfo, in bytes.
std::optional<std::int64_t> memory_line(std::string_view name) {
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name)) return std::stoll(line.substr(name.size())) * 1024;
    return std::nullopt;
}

}  // namespace

agent_protocol::Manifest make_manifest(gpu::Gpus& gpus, Runtime& runtime,
                                       const Settings& settings) {
    const gpu::Inventory inventory = gpus.inventory();
    utsname system{};
    ::uname(&system);
    agent_protocol::Manifest manifest;
    manifest.architecture.value = static_cast<const char*>(system.machine);
    manifest.kernel.value = fmt::format("{} {}", static_cast<const char*>(system.sysname),
                                        static_cast<const char*>(system.release));
    manifest.driver_version = text_or_null<wire::Text<1, 64>>(inventory.driver_version);
    manifest.runtime = text_or_null<wire::Text<1, 64>>(runtime.version());
    manifest.cuda_max = text_or_null<wire::Text<1, 32>>(inventory.cuda_max);
    manifest.cpu_model = text_or_null<wire::Text<1, 200>>(cpu_model());
    manifest.cpu_cores = wire::Integer<1, 65536>{cpu_cores(settings)};
    manifest.runtime_kind = runtime.kind();
    manifest.gpus.value = inventory.gpus;
    manifest.gate = settings.gate;
    if (settings.share) manifest.slot = wire::Text<1, 16>{settings.share->slot};
    return manifest;
}

std::optional<DiskSpace> disk_space(const std::string& folder) {
    struct statvfs info {};
    if (::statvfs(folder.c_str(), &info) != 0) return std::nullopt;
    const auto unit = static_cast<std::int64_t>(info.f_frsize);
    return DiskSpace{static_cast<std::int64_t>(info.f_blocks) * unit,
                     static_cast<std::int64_t>(info.f_bavail) * unit};
}

std::int64_t disk_floor(std::int64_t total_bytes) {
    constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
    return std::clamp<std::int64_t>(total_bytes / 20, gibibyte, 10 * gibibyte);
}

std::optional<std::int64_t> ram_bytes() { return memory_line("MemTotal:"); }

std::int64_t cpu_cores() { return std::max<std::int64_t>(1, std::thread::hardware_concurrency()); }

std::optional<std::int64_t> ram_bytes(const Settings& settings) {
    return settings.share ? std::optional(settings.share->memory_gib.value << 30) : ram_bytes();
}

std::int64_t cpu_cores(const Settings& settings) {
    return settings.share ? settings.share->cpus.value : cpu_cores();
}

agent_protocol::Telemetry Sampler::take() {
    agent_protocol::Telemetry sample;
    sample.uptime_ms = wire::Decimal{clock_.since_boot().count() / 1000};
    if (const auto disk = disk_space(folder_)) {
        sample.disk_total_bytes = wire::Decimal{disk->total_bytes};
        sample.disk_used_bytes = wire::Decimal{disk->total_bytes - disk->free_bytes};
    }
    if (share_)
        take_of_slot(sample);
    else
        take_of_host(sample);
    if (auto cards = gpus_.telemetry(); !cards.empty())
        sample.gpus.emplace(wire::List<agent_protocol::GpuTelemetry, 0, agent_protocol::gpus_max>{
            std::move(cards)});
    return sample;
}

void Sampler::take_of_slot(agent_protocol::Telemetry& sample) {
    const SlotGroup group(folder_);
    sample.ram_total_bytes = wire::Decimal{share_->memory_gib.value << 30};
    if (const auto used = group.memory_bytes()) sample.ram_used_bytes = wire::Decimal{*used};
    const auto used_us = group.cpu_us();
    if (!used_us) return;
    const Counts now{.at = clock_.since_boot(), .cpu_busy = *used_us};
    if (before_ && now.at > before_->at && now.cpu_busy >= before_->cpu_busy)
        sample.cpu_util_pct = std::min(
            100.0, 100.0 * static_cast<double>(now.cpu_busy - before_->cpu_busy) /
                       static_cast<double>((now.at - before_->at).count() * share_->cpus.value));
    before_ = now;
}

void Sampler::take_of_host(agent_protocol::Telemetry& sample) {
    const Counts now = count();
    if (const auto total = ram_bytes()) {
        sample.ram_total_bytes = wire::Decimal{*total};
        if (const auto free = memory_line("MemAvailable:"))
            sample.ram_used_bytes = wire::Decimal{*total - *free};
    }
    std::ifstream load("/proc/loadavg");
    if (double value = 0; load >> value) sample.load_1m = value;
    if (before_ && now.at > before_->at) {
        const double seconds = static_cast<double>((now.at - before_->at).count()) / 1e6;
        const auto megabits = [&](std::int64_t bytes) {
            return static_cast<double>(bytes) * 8 / 1e6 / seconds;
        };
        if (now.cpu_all > before_->cpu_all)
            sample.cpu_util_pct = 100.0 * static_cast<double>(now.cpu_busy - before_->cpu_busy) /
                                  static_cast<double>(now.cpu_all - before_->cpu_all);
        if (now.rx_bytes >= before_->rx_bytes && now.tx_bytes >= before_->tx_bytes) {
            sample.net_rx_mbps = megabits(now.rx_bytes - before_->rx_bytes);
            sample.net_tx_mbps = megabits(now.tx_bytes - before_->tx_bytes);
        }
    }
    before_ = now;
}

Sampler::Counts Sampler::count() const {
    Counts counts;
    counts.at = clock_.since_boot();
    std::ifstream stat("/proc/stat");
    std::string word;
    stat >> word;
    for (int column = 0; column < 8; ++column) {
        std::int64_t ticks = 0;
        if (!(stat >> ticks)) break;
        counts.cpu_all += ticks;
        if (column != 3 && column != 4) counts.cpu_busy += ticks;  // but idle and iowait
    }
    std::ifstream net("/proc/net/dev");
    for (std::string line; std::getline(net, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos || line.substr(0, colon).ends_with("lo")) continue;
        std::istringstream columns(line.substr(colon + 1));
        std::int64_t rx = 0;
        std::int64_t skipped = 0;
        std::int64_t tx = 0;
        columns >> rx;
        for (int column = 0; column < 7; ++column) columns >> skipped;
        if (!(columns >> tx)) continue;
        counts.rx_bytes += rx;
        counts.tx_bytes += tx;
    }
    return counts;
}

}  // namespace berth::host_agent
