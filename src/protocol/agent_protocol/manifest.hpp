// What a machine is, as its agent found it, and how it becomes one of ours. Nothing here was
// measured; a machine test does that.
#pragma once

#include <boost/describe.hpp>

#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

inline constexpr std::int64_t protocol_version = 1;
inline constexpr std::int64_t heartbeat_seconds = 20;
inline constexpr std::size_t gpus_max = 64;

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

// What the owner wants of gates, where that is anything.
enum class GateWish { always, never };
BOOST_DESCRIBE_ENUM(GateWish, always, never)

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
    std::optional<GateWish> gate = {};
    std::optional<wire::Text<1, 16>> slot = {};
};
BOOST_DESCRIBE_STRUCT(Manifest, (),
                      (architecture, kernel, driver_version, runtime, cuda_max, cpu_model,
                       cpu_cores, runtime_kind, gpus, gate, slot))
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
        {"gate",
         "Whether the owner wants jobs to be reached by a gate always, or never; left out: where "
         "the machine's own ports do not answer from outside.",
         "always"},
        {"slot",
         "Of a computer that is sold in slots: which of them; cores and devices are this slot's.",
         "left"},
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
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "", "^[A-Za-z0-9+/]{43}=$"},
        {"protocol_version", "The version the agent speaks.", "1"},
        {"agent_version", "Of the agent's program, for people.", "1.0.0"},
        {"manifest_hash", "SHA-256 of the canonical JSON (RFC 8785) of the manifest.",
         "sha256:67fd44e138c85b357a783207ed315cd75078ffdab0cdbf634b7e0af8760e1b54"},
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
        {"manifest_hash", "SHA-256 of the canonical JSON (RFC 8785) of the manifest.",
         "sha256:67fd44e138c85b357a783207ed315cd75078ffdab0cdbf634b7e0af8760e1b54"},
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

}  // namespace berth::agent_protocol
