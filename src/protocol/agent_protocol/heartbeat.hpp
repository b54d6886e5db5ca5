// What an agent says every `heartbeat_seconds`: how the host is used, how it does, and every job
// that it holds anything of.
#pragma once

#include <boost/describe.hpp>

#include "agent_protocol/manifest.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

inline constexpr std::size_t jobs_max = 16;
inline constexpr std::size_t warm_images_max = 32;

enum class HostMode { dedicated, idle, colisted };
BOOST_DESCRIBE_ENUM(HostMode, dedicated, idle, colisted)

struct HostModeReport {
    wire::Nullable<HostMode> mode;
    wire::Nullable<bool> offerable;
    wire::List<wire::Text<1, 200>, 0, 16> reasons;
};
BOOST_DESCRIBE_STRUCT(HostModeReport, (), (mode, offerable, reasons))
constexpr auto wire_docs(const HostModeReport*) {
    return std::to_array<wire::Doc>({
        {"mode",
         "What else the machine does: nothing, its owner's work when that is idle, or offers "
         "elsewhere; null when the agent cannot tell.",
         "dedicated"},
        {"offerable", "Whether a renter could have it now; null when the agent cannot tell.",
         "true"},
        {"reasons", "Why it is not offerable, for people.", "a game is running"},
    });
}

struct GpuTelemetry {
    std::optional<wire::Text<1, 64>> pci_address;
    std::optional<double> util_pct;
    std::optional<double> memory_util_pct;
    std::optional<wire::Decimal> memory_used_bytes;
    std::optional<wire::Decimal> memory_total_bytes;
    std::optional<double> temperature_c;
    std::optional<double> power_w;
    std::optional<double> power_limit_w;
    std::optional<double> sm_clock_mhz;
    std::optional<double> mem_clock_mhz;
    std::optional<double> fan_pct;
    std::optional<wire::List<wire::Text<1, 64>, 0, 16>> throttle;
};
BOOST_DESCRIBE_STRUCT(GpuTelemetry, (),
                      (pci_address, util_pct, memory_util_pct, memory_used_bytes,
                       memory_total_bytes, temperature_c, power_w, power_limit_w, sm_clock_mhz,
                       mem_clock_mhz, fan_pct, throttle))
constexpr auto wire_docs(const GpuTelemetry*) {
    return std::to_array<wire::Doc>({
        {"pci_address", "Which device.", "0000:01:00.0"},
        {"util_pct", "Time in which it worked, 0 to 100.", "97"},
        {"memory_util_pct", "Time in which its memory worked, 0 to 100.", "41"},
        {"memory_used_bytes", "Memory in use.", "8589934592"},
        {"memory_total_bytes", "Memory it has.", "25757220864"},
        {"temperature_c", "Degrees Celsius.", "63"},
        {"power_w", "Watts drawn.", "287.5"},
        {"power_limit_w", "Watts allowed.", "450"},
        {"sm_clock_mhz", "Clock of its processors.", "2520"},
        {"mem_clock_mhz", "Clock of its memory.", "10501"},
        {"fan_pct", "Speed of its fan, 0 to 100.", "55"},
        {"throttle", "Why it runs slower than it could.", "sw_power_cap"},
    });
}

// Evidence only: nothing is decided by it. What could not be measured is left out, and is never 0.
struct Telemetry {
    std::optional<wire::Decimal> uptime_ms;
    std::optional<wire::Decimal> ram_used_bytes;
    std::optional<wire::Decimal> ram_total_bytes;
    std::optional<wire::Decimal> disk_used_bytes;
    std::optional<wire::Decimal> disk_total_bytes;
    std::optional<double> cpu_util_pct;
    std::optional<double> load_1m;
    std::optional<double> net_rx_mbps;
    std::optional<double> net_tx_mbps;
    std::optional<wire::List<GpuTelemetry, 0, gpus_max>> gpus;
};
BOOST_DESCRIBE_STRUCT(Telemetry, (),
                      (uptime_ms, ram_used_bytes, ram_total_bytes, disk_used_bytes,
                       disk_total_bytes, cpu_util_pct, load_1m, net_rx_mbps, net_tx_mbps, gpus))
constexpr auto wire_docs(const Telemetry*) {
    return std::to_array<wire::Doc>({
        {"uptime_ms", "Milliseconds since the host was booted.", "86400000"},
        {"ram_used_bytes", "Main memory in use.", "17179869184"},
        {"ram_total_bytes", "Main memory it has.", "68719476736"},
        {"disk_used_bytes", "Of the disk that jobs get.", "107374182400"},
        {"disk_total_bytes", "Of the disk that jobs get.", "1099511627776"},
        {"cpu_util_pct", "All cores together, 0 to 100.", "12.5"},
        {"load_1m", "Runnable processes over the last minute.", "1.25"},
        {"net_rx_mbps", "Megabits a second coming in.", "4.2"},
        {"net_tx_mbps", "Megabits a second going out.", "1.1"},
        {"gpus", "One for each device that could be asked."},
    });
}

enum class JobPhase { preparing, running, stopping, stopped, cleaning };
BOOST_DESCRIBE_ENUM(JobPhase, preparing, running, stopping, stopped, cleaning)
constexpr std::string_view wire_name(JobPhase phase) {
    switch (phase) {
        case JobPhase::preparing: return "PREPARING";
        case JobPhase::running: return "RUNNING";
        case JobPhase::stopping: return "STOPPING";
        case JobPhase::stopped: return "STOPPED";
        case JobPhase::cleaning: return "CLEANING";
    }
    return {};
}

struct JobReport {
    JobId job_id;
    wire::Decimal lease_seq;
    wire::Decimal budget_version;
    JobPhase phase = JobPhase::preparing;
    wire::Nullable<wire::Text<1, 128>> container_id;
    wire::Decimal runtime_ms;
};
BOOST_DESCRIBE_STRUCT(JobReport, (),
                      (job_id, lease_seq, budget_version, phase, container_id, runtime_ms))
constexpr auto wire_docs(const JobReport*) {
    return std::to_array<wire::Doc>({
        {"lease_seq", "The highest one the agent was granted for the job.", "7"},
        {"budget_version", "The highest one the agent has seen for the job.", "1"},
        {"phase", "How far the job is on the host."},
        {"container_id", "Changes when the workload was started anew; null before it runs.",
         "3f2a9c"},
        {"runtime_ms", "Milliseconds since READY; it never falls.", "421337"},
    });
}

struct Heartbeat {
    wire::Text<1, 64> boot_id;
    wire::Decimal fence;
    wire::Sha256Hash manifest_hash;
    Time sent_at;
    HostModeReport host_mode;
    std::optional<Telemetry> telemetry;
    wire::List<JobReport, 0, jobs_max> jobs;
    std::optional<wire::List<wire::Sha256Hash, 0, warm_images_max>> warm_images;
};
BOOST_DESCRIBE_STRUCT(Heartbeat, (),
                      (boot_id, fence, manifest_hash, sent_at, host_mode, telemetry, jobs,
                       warm_images))
constexpr auto wire_docs(const Heartbeat*) {
    return std::to_array<wire::Doc>({
        {"host_mode", "How the host is used beside us."},
        {"boot_id", "Changes with every boot of the host.", "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
        {"fence",
         "The highest one the agent knows. A lower one than ours is not refused: the "
         "answer has ours. After a restored backup ours rises above a higher one.",
         "3"},
        {"manifest_hash", "Of the manifest as the machine is now."},
        {"sent_at", "By the agent's clock. Nothing is computed from it."},
        {"telemetry", "Left out when none was taken; the last sample then only grows older."},
        {"jobs", "Every job the host holds anything of."},
        {"warm_images",
         "Digests of the images that are on the host already, so that a job with one of them "
         "starts "
         "without fetching it. Left out while they are as they were last told.",
         "sha256:1d6866b87630d94f5e0cdae55ab5abb4ce0b03fcb84d9d10612f9d518d19d4fd"},
    });
}

}  // namespace berth::agent_protocol
