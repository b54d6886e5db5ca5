// What host agents and the server say to each other, protocol version 1: one struct per message,
// the same on both sides. docs/agent-protocol.md tells the story these are the words of.
#pragma once

#include <boost/describe.hpp>

#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

inline constexpr std::int64_t protocol_version = 1;
inline constexpr std::int64_t heartbeat_seconds = 20;
inline constexpr std::size_t gpus_max = 64;
inline constexpr std::size_t jobs_max = 16;

using CommandId = Id<struct CommandTag>;

// ---- The manifest: what a machine is, as its agent found it. Nothing in it was measured.

enum class RuntimeKind { container, process, simulated };
BOOST_DESCRIBE_ENUM(RuntimeKind, container, process, simulated)

enum class MemoryClass { dedicated, shared, unknown };
BOOST_DESCRIBE_ENUM(MemoryClass, dedicated, shared, unknown)

enum class Backend { cuda, rocm, sycl, vulkan, metal };
BOOST_DESCRIBE_ENUM(Backend, cuda, rocm, sycl, vulkan, metal)

struct ManifestGpu {
    wire::Text<1, 64> pci_address;
    wire::Text<1, 64> vendor;
    wire::Nullable<wire::Text<1, 200>> model;
    wire::Nullable<wire::Decimal> memory_bytes;
    MemoryClass memory_class = MemoryClass::unknown;
    wire::Set<Backend, 0, 5> backends;
    wire::Nullable<wire::Text<1, 128>> uuid;
};
BOOST_DESCRIBE_STRUCT(ManifestGpu, (),
                      (pci_address, vendor, model, memory_bytes, memory_class, backends, uuid))
constexpr auto wire_docs(const ManifestGpu*) {
    return std::to_array<wire::Doc>({
        {"pci_address", "Where the device sits.", "0000:01:00.0"},
        {"vendor", "Who made it.", "NVIDIA"},
        {"model", "As the driver names it; null when nothing could be asked.",
         "NVIDIA GeForce RTX 4090"},
        {"memory_bytes", "As the driver reports it, in bytes; null when it does not.",
         "25757220864"},
        {"memory_class", "Whether the memory is the device's own."},
        {"backends", "What the device can be programmed with.", "cuda"},
        {"uuid", "The device's own identity, if it has one.",
         "GPU-6f1d0e9c-3f9a-4d8e-9a51-0f6f1c7a2b3c"},
    });
}

struct Manifest {
    wire::Text<1, 64> architecture;
    wire::Text<1, 128> kernel;
    wire::Nullable<wire::Text<1, 64>> driver_version;
    wire::Nullable<wire::Text<1, 64>> runtime;
    wire::Nullable<wire::Text<1, 32>> cuda_max;
    wire::Nullable<wire::Text<1, 200>> cpu_model;
    wire::Nullable<wire::Integer<1, 65536>> cpu_cores;
    RuntimeKind runtime_kind = RuntimeKind::container;
    wire::List<ManifestGpu, 0, gpus_max> gpus;
};
BOOST_DESCRIBE_STRUCT(Manifest, (),
                      (architecture, kernel, driver_version, runtime, cuda_max, cpu_model,
                       cpu_cores, runtime_kind, gpus))
constexpr auto wire_docs(const Manifest*) {
    return std::to_array<wire::Doc>({
        {"architecture", "Of the processor.", "x86_64"},
        {"kernel", "The operating system's kernel and its release.", "Linux 6.8.0-45"},
        {"driver_version", "Of the GPU driver; null when there is none.", "570.86.15"},
        {"runtime", "What runs containers, with its version; null when nothing does.",
         "podman 4.3.1"},
        {"cuda_max", "The newest CUDA that the driver serves; null without one.", "12.8"},
        {"cpu_model", "As the processor names itself; null when it does not.", "AMD EPYC 7763"},
        {"cpu_cores", "Cores that can run at once; null when unknown.", "64"},
        {"runtime_kind",
         "How jobs run: in containers, as processes of engines on the host, or not at all."},
        {"gpus", "The devices, in the order of their bus addresses."},
    });
}

// ---- Enrollment

struct Enroll {
    wire::Text<1, 100> token;
    wire::Text<1, 64> public_key;
    wire::Count protocol_version;
    wire::Text<1, 64> agent_version;
    Manifest manifest;
    wire::Sha256Hash manifest_hash;
    wire::Text<1, 64> boot_id;
};
BOOST_DESCRIBE_STRUCT(Enroll, (),
                      (token, public_key, protocol_version, agent_version, manifest, manifest_hash,
                       boot_id))
constexpr auto wire_docs(const Enroll*) {
    return std::to_array<wire::Doc>({
        {"manifest", "What the machine is."},
        {"token", "The one-time token that the owner was given.", "bre_…"},
        {"public_key", "The machine's Ed25519 key, the raw 32 bytes in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
        {"protocol_version", "The version the agent speaks.", "1"},
        {"agent_version", "Of the agent's program, for people.", "1.0.0"},
        {"manifest_hash", "SHA-256 of the canonical JSON (RFC 8785) of the manifest."},
        {"boot_id", "Changes with every boot of the host.", "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
    });
}

struct Enrolled {
    MachineId machine_id;
    wire::Decimal fence;
    std::string server_public_key;
    std::string server_key_id;
    wire::Count heartbeat_s;
};
BOOST_DESCRIBE_STRUCT(Enrolled, (),
                      (machine_id, fence, server_public_key, server_key_id, heartbeat_s))
constexpr auto wire_docs(const Enrolled*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "Signs as this from now on (keyid)."},
        {"fence", "Rises whenever the machine changes hands; what is older is the past.", "1"},
        {"server_public_key",
         "To be pinned: every command is checked against this Ed25519 key (raw, base64).",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
        {"server_key_id", "The name of that key in commands.", "9a51c0f66f1d0e9c"},
        {"heartbeat_s", "How often a heartbeat is expected, in seconds.", "20"},
    });
}

struct NewManifest {
    wire::Decimal fence;
    wire::Text<1, 64> agent_version;
    Manifest manifest;
    wire::Sha256Hash manifest_hash;
    wire::Text<1, 64> boot_id;
};
BOOST_DESCRIBE_STRUCT(NewManifest, (), (fence, agent_version, manifest, manifest_hash, boot_id))
constexpr auto wire_docs(const NewManifest*) {
    return std::to_array<wire::Doc>({
        {"manifest", "What the machine is now."},
        {"fence", "The highest one the agent knows.", "3"},
        {"agent_version", "Of the agent's program; an upgrade of it changes nothing else.",
         "1.0.1"},
        {"manifest_hash", "SHA-256 of the canonical JSON (RFC 8785) of the manifest."},
        {"boot_id", "Changes with every boot of the host.", "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
    });
}

struct ManifestTaken {
    MachineId machine_id;
    wire::Decimal fence;
    std::string manifest_hash;
};
BOOST_DESCRIBE_STRUCT(ManifestTaken, (), (machine_id, fence, manifest_hash))
constexpr auto wire_docs(const ManifestTaken*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "The machine that sent it."},
        {"fence", "The server's.", "3"},
        {"manifest_hash", "Of the manifest that the server has now.", "sha256:…"},
    });
}

// ---- Heartbeats

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
};
BOOST_DESCRIBE_STRUCT(Heartbeat, (),
                      (boot_id, fence, manifest_hash, sent_at, host_mode, telemetry, jobs))
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
    });
}

// ---- Commands

enum class CommandKind { qualify, start, stop, budget, clean, rotate_key, server_key };
BOOST_DESCRIBE_ENUM(CommandKind, qualify, start, stop, budget, clean, rotate_key, server_key)
constexpr std::string_view wire_name(CommandKind kind) {
    switch (kind) {
        case CommandKind::qualify: return "QUALIFY";
        case CommandKind::start: return "START";
        case CommandKind::stop: return "STOP";
        case CommandKind::budget: return "BUDGET";
        case CommandKind::clean: return "CLEAN";
        case CommandKind::rotate_key: return "ROTATE_KEY";
        case CommandKind::server_key: return "SERVER_KEY";
    }
    return {};
}

struct Command {
    CommandId command_id;
    CommandKind kind = CommandKind::qualify;
    std::string key_id;
    MachineId machine_id;
    wire::Decimal fence;
    std::optional<JobId> job_id;
    std::optional<wire::Decimal> lease_seq;
    Time issued_at;
    Time expires_at;
    wire::Object payload;
    std::string signature;
};
BOOST_DESCRIBE_STRUCT(Command, (),
                      (command_id, kind, key_id, machine_id, fence, job_id, lease_seq, issued_at,
                       expires_at, payload, signature))
constexpr auto wire_docs(const Command*) {
    return std::to_array<wire::Doc>({
        {"command_id", "To be named in the acknowledgement."},
        {"machine_id", "Whom it is for; an agent takes no other."},
        {"issued_at", "By the server's clock."},
        {"kind", "What is to be done; an agent acknowledges a kind it does not know as rejected."},
        {"key_id", "Which of the server's keys signed it.", "9a51c0f66f1d0e9c"},
        {"fence", "A command under a lower fence than the agent knows is the past's.", "3"},
        {"job_id", "Of commands about a job."},
        {"lease_seq", "Of commands that come with a lease.", "1"},
        {"expires_at", "Not to be begun after this."},
        {"payload", "What the kind needs; see docs/agent-protocol.md."},
        {"signature",
         "Ed25519 (base64) by the server's key over the canonical JSON (RFC 8785) of the command "
         "without this member.",
         "…"},
    });
}

struct Lease {
    JobId job_id;
    wire::Decimal lease_seq;
    wire::Decimal budget_version;
    Micro budget_micro;
    wire::Nullable<Time> funded_through;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Lease, (),
                      (job_id, lease_seq, budget_version, budget_micro, funded_through, expires_at))
constexpr auto wire_docs(const Lease*) {
    return std::to_array<wire::Doc>({
        {"lease_seq", "One more with each grant.", "8"},
        {"budget_version", "Of the budget that funds it.", "1"},
        {"budget_micro", "That budget.", "5000000"},
        {"funded_through", "The workload is stopped at this; null before it is READY.", "null"},
        {"expires_at", "The workload is stopped 300 s after this unless a lease follows."},
    });
}

// The answer to a heartbeat, and to waiting for commands.
struct Orders {
    Time server_time;
    wire::Decimal fence;
    std::vector<Command> commands;
    std::vector<Lease> leases;
    std::vector<std::string> warnings;
};
BOOST_DESCRIBE_STRUCT(Orders, (), (server_time, fence, commands, leases, warnings))
constexpr auto wire_docs(const Orders*) {
    return std::to_array<wire::Doc>({
        {"server_time", "By the server's clock."},
        {"fence", "The server's; an agent keeps the highest it has seen.", "3"},
        {"commands", "Each comes again until it was acknowledged or has expired."},
        {"leases", "Of the jobs the machine holds; heartbeats grant new ones."},
        {"warnings", "For the host's log: what looks wrong and changed nothing.",
         "sent_at is 90 s behind our clock"},
    });
}

// What a machine says in its own words, which is kept within records of ours.
using Told = wire::ShallowObject<16>;

enum class AckResult { accepted, completed, rejected };
BOOST_DESCRIBE_ENUM(AckResult, accepted, completed, rejected)

struct Ack {
    wire::Decimal fence;
    AckResult result = AckResult::accepted;
    std::optional<wire::Text<1, 64>> code;
    std::optional<Told> detail;
};
BOOST_DESCRIBE_STRUCT(Ack, (), (fence, result, code, detail))
constexpr auto wire_docs(const Ack*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"result", "Begun, done, or refused."},
        {"code", "Why it was refused, such as UNKNOWN_COMMAND_KIND.", "STALE_FENCE"},
        {"detail", "What the kind asks for: BUDGET its numbers, ROTATE_KEY the new key."},
    });
}

// In an ack of BUDGET.
struct BudgetDetail {
    wire::Decimal budget_version;
    Micro budget_micro;
    wire::Nullable<Time> funded_through;
};
BOOST_DESCRIBE_STRUCT(BudgetDetail, (), (budget_version, budget_micro, funded_through))

// In an ack of ROTATE_KEY that is completed.
struct RotateKeyDetail {
    wire::Text<1, 64> public_key;
    wire::Text<1, 128> signature;
};
BOOST_DESCRIBE_STRUCT(RotateKeyDetail, (), (public_key, signature))

struct RotateKeyPayload {
    std::string nonce;
};
BOOST_DESCRIBE_STRUCT(RotateKeyPayload, (), (nonce))

struct ServerKeyPayload {
    std::string key_id;
    std::string public_key;
};
BOOST_DESCRIBE_STRUCT(ServerKeyPayload, (), (key_id, public_key))

// ---- Events

enum class JobEventKind {
    started,
    progress,
    ready,
    usage,
    preempt_notice,
    exited,
    stopped,
    cleaned,
};
BOOST_DESCRIBE_ENUM(JobEventKind, started, progress, ready, usage, preempt_notice, exited, stopped,
                    cleaned)
constexpr std::string_view wire_name(JobEventKind kind) {
    switch (kind) {
        case JobEventKind::started: return "STARTED";
        case JobEventKind::progress: return "PROGRESS";
        case JobEventKind::ready: return "READY";
        case JobEventKind::usage: return "USAGE";
        case JobEventKind::preempt_notice: return "PREEMPT_NOTICE";
        case JobEventKind::exited: return "EXITED";
        case JobEventKind::stopped: return "STOPPED";
        case JobEventKind::cleaned: return "CLEANED";
    }
    return {};
}

struct JobEvent {
    wire::Decimal fence;
    wire::Decimal lease_seq;
    JobEventKind kind = JobEventKind::started;
    Time at;
    Told evidence;
};
BOOST_DESCRIBE_STRUCT(JobEvent, (), (fence, lease_seq, kind, at, evidence))
constexpr auto wire_docs(const JobEvent*) {
    return std::to_array<wire::Doc>({
        {"fence", "Of the command that began the job.", "3"},
        {"lease_seq", "The lease under which it happened.", "7"},
        {"at", "By the agent's clock."},
        {"evidence", "What the kind asks for; other members are kept."},
    });
}

struct JobEventTaken {
    JobId job_id;
    std::string state;
    wire::Decimal fence;
    wire::Nullable<Lease> lease;
};
BOOST_DESCRIBE_STRUCT(JobEventTaken, (), (job_id, state, fence, lease))
constexpr auto wire_docs(const JobEventTaken*) {
    return std::to_array<wire::Doc>({
        {"state", "Of the job, after the event.", "RUNNING"},
        {"fence", "The server's.", "3"},
        {"lease", "Granted by READY; null otherwise."},
    });
}

enum class HealthKind { gpu_xid, gpu_ecc, gpu_lost };
BOOST_DESCRIBE_ENUM(HealthKind, gpu_xid, gpu_ecc, gpu_lost)
constexpr std::string_view wire_name(HealthKind kind) {
    switch (kind) {
        case HealthKind::gpu_xid: return "GPU_XID";
        case HealthKind::gpu_ecc: return "GPU_ECC";
        case HealthKind::gpu_lost: return "GPU_LOST";
    }
    return {};
}

struct HealthEvent {
    wire::Decimal fence;
    HealthKind kind = HealthKind::gpu_xid;
    Time at;
    Told evidence;
};
BOOST_DESCRIBE_STRUCT(HealthEvent, (), (fence, kind, at, evidence))
constexpr auto wire_docs(const HealthEvent*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"at", "By the agent's clock."},
        {"evidence", "What the driver said."},
    });
}

}  // namespace berth::agent_protocol
