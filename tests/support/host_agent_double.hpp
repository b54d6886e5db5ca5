// What a host agent says, made from the protocol's own structs: the double that tests, the
// simulation, the scripted agent and the benchmarks share. It makes messages and sends none, so
// that each of them can send as it does. A hostile host is another thing: what it sends is no
// struct of ours, and tests write it as raw JSON from docs/agent-messages.md.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/types.hpp"
#include "wire/wire.hpp"

namespace berth::test {

// A host with one RTX 4090.
inline agent_protocol::Manifest manifest_4090(const std::string& gpu_uuid) {
    agent_protocol::ManifestGpu gpu;
    gpu.pci_address = {"0000:01:00.0"};
    gpu.vendor = {"nvidia"};
    gpu.model = wire::Text<1, 200>{"NVIDIA GeForce RTX 4090"};
    gpu.memory_bytes = wire::Decimal{25'757'220'864};
    gpu.memory_class = agent_protocol::MemoryClass::dedicated;
    gpu.backends = {{agent_protocol::Backend::cuda, agent_protocol::Backend::vulkan}};
    gpu.uuid = wire::Text<1, 128>{gpu_uuid};
    agent_protocol::Manifest manifest;
    manifest.architecture = {"x86_64"};
    manifest.kernel = {"6.1.0"};
    manifest.driver_version = wire::Text<1, 64>{"570.86.10"};
    manifest.runtime = wire::Text<1, 64>{"podman 4.3.1"};
    manifest.cuda_max = wire::Text<1, 32>{"12.8"};
    manifest.cpu_model = wire::Text<1, 200>{"EPYC"};
    manifest.cpu_cores = wire::Integer<1, 65536>{16};
    manifest.gpus.value.push_back(std::move(gpu));
    return manifest;
}

// A sample with every member.
inline agent_protocol::Telemetry full_telemetry() {
    agent_protocol::GpuTelemetry gpu;
    gpu.pci_address = {"0000:01:00.0"};
    gpu.util_pct = 97;
    gpu.memory_util_pct = 41;
    gpu.memory_used_bytes = {8'589'934'592};
    gpu.memory_total_bytes = {25'757'220'864};
    gpu.temperature_c = 63;
    gpu.power_w = 287.5;
    gpu.power_limit_w = 450;
    gpu.sm_clock_mhz = 2520;
    gpu.mem_clock_mhz = 10501;
    gpu.fan_pct = 55;
    gpu.throttle = wire::List<wire::Text<1, 64>, 0, 16>{{{"sw_power_cap"}}};
    agent_protocol::Telemetry sample;
    sample.uptime_ms = {86'400'000};
    sample.ram_used_bytes = {17'179'869'184};
    sample.ram_total_bytes = {68'719'476'736};
    sample.disk_used_bytes = {107'374'182'400};
    sample.disk_total_bytes = {1'099'511'627'776};
    sample.cpu_util_pct = 12.5;
    sample.load_1m = 1.25;
    sample.net_rx_mbps = 4.2;
    sample.net_tx_mbps = 1.1;
    sample.gpus = wire::List<agent_protocol::GpuTelemetry, 0, agent_protocol::gpus_max>{{gpu}};
    return sample;
}

// What a workload says of itself once it runs.
struct DoubleWorkload {
    std::string container_id = "c1";
    std::string boot_id = "boot-1";
};

inline agent_protocol::ReadyEvidence ready_evidence(
    const DoubleWorkload& workload, const std::vector<agent_protocol::JobEndpoint>& endpoints) {
    agent_protocol::ReadyEvidence ready;
    ready.container_id = {workload.container_id};
    ready.boot_id = {workload.boot_id};
    ready.endpoints.value = endpoints;
    ready.time_to_ready.emplace(agent_protocol::TimeToReady{{1}, {2}, {3}});
    return ready;
}

// Where what a START asked for is reached: everything that is exposed over http, and a shell for
// the renter's key.
struct DoublePlace {
    std::string host = "203.0.113.7";
    std::int64_t http_port = 40080;
    std::int64_t ssh_port = 40022;
};
inline std::vector<agent_protocol::JobEndpoint> endpoints_of(
    const agent_protocol::StartPayload& start, const DoublePlace& place = {}) {
    std::vector<agent_protocol::JobEndpoint> endpoints;
    for (const agent_protocol::Exposed& exposed : start.exposes)
        if (exposed.protocol == "http")
            endpoints.push_back({agent_protocol::EndpointKind::http,
                                 {exposed.name},
                                 {place.host},
                                 {place.http_port},
                                 {}});
    if (start.ssh_public_key.value)
        endpoints.push_back(
            {agent_protocol::EndpointKind::ssh, {"ssh"}, {place.host}, {place.ssh_port}, {}});
    return endpoints;
}

inline agent_protocol::UsageEvidence usage_evidence(const DoubleWorkload& workload,
                                                    std::int64_t runtime_ms) {
    agent_protocol::UsageEvidence usage;
    usage.runtime_ms = {runtime_ms};
    usage.container_id = {workload.container_id};
    usage.boot_id = {workload.boot_id};
    return usage;
}

inline agent_protocol::EndEvidence end_evidence(const DoubleWorkload& workload,
                                                std::int64_t runtime_ms) {
    agent_protocol::EndEvidence end;
    end.container_id.emplace(agent_protocol::Name{workload.container_id});
    end.boot_id.emplace(agent_protocol::Name{workload.boot_id});
    end.runtime_ms.emplace(wire::Decimal{runtime_ms});
    return end;
}

// A wipe of one card of a hundred bytes; from 90 on it is one.
inline agent_protocol::CleanedEvidence cleaned_evidence(std::int64_t wiped_percent = 95) {
    constexpr std::int64_t memory_of_4090 = 25'757'220'864;
    agent_protocol::GpuWipe gpu;
    gpu.uuid.emplace(std::nullopt);
    gpu.total_bytes = {memory_of_4090};
    gpu.wiped_bytes = gpu.verified_bytes = {memory_of_4090 / 100 * wiped_percent};
    agent_protocol::CleanedEvidence cleaned;
    cleaned.volume_recreated = true;
    cleaned.gpus.value = {gpu};
    return cleaned;
}

inline constexpr std::array checks_of_host{
    "driver.version",      "gpu.uniform", "gpu.memory",        "gpu.idle",
    "gpu.vram_write_read", "gpu.compute", "gpu.mem_bandwidth", "gpu.pcie",
    "disk.free",           "ram",         "net.down",          "net.up",
    "container.profile",   "cleanup.wipe"};

// A test that a host with an RTX 4090 passes.
inline agent_protocol::TestResult passed_test(std::int64_t fence) {
    agent_protocol::TestResult result;
    result.fence = {fence};
    for (const char* id : checks_of_host) {
        agent_protocol::Check check;
        check.id = {id};
        check.status = agent_protocol::CheckStatus::pass;
        result.checks.value.push_back(std::move(check));
    }
    agent_protocol::Measurements& measured = result.measurements;
    measured.vram_bytes = {25'757'220'864};
    measured.ram_bytes = {68'719'476'736};
    measured.disk_bytes = {1'000'000'000'000};
    measured.cpu_cores = wire::Integer<1, 65536>{16};
    measured.download_mbps = 900.5;
    measured.upload_mbps = 400.5;
    measured.gpu_mem_bw_gbps = 920.5;
    measured.tflops = 80.5;
    measured.ai_speed_tok_s = 110.5;
    measured.pcie_gbps = 25.5;
    return result;
}

// What the server asks of an agent for a model that serves itself.
inline agent_protocol::StartPayload start_of_model(JobId job) {
    agent_protocol::StartPayload start;
    start.job_id = job;
    start.lease_seq = {1};
    start.budget_version = {1};
    start.budget_micro = Micro{1'000'000};
    start.rate_micro_per_hour = Micro{2'000'000};
    start.duration_limit_s = {3600};
    start.image_digest = "x@sha256:0";
    start.template_ =
        agent_protocol::StartTemplate{job.uuid, "t", agent_protocol::TemplateKind::model, "vllm"};
    start.exposes = {{"openai", {8000}, "http"}};
    start.readiness_path = std::string("/v1/models");
    start.gpu_count = {1};
    start.endpoint_api_key = "key";
    start.included_disk_gib = {1};
    start.included_egress_gib = {1};
    start.start_deadline_s = {60};
    start.profile = agent_protocol::launch_profile();
    return start;
}

// What the agent knows and finds; all of it can be set.
class HostAgentDouble {
public:
    agent_protocol::Manifest manifest = manifest_4090("GPU-1");
    std::optional<std::string> other_manifest_hash;  // than the manifest's
    std::string boot_id = "boot-1";
    std::int64_t fence = 1;
    agent_protocol::HostModeReport host_mode{agent_protocol::HostMode::dedicated, true, {}};
    std::optional<agent_protocol::Telemetry> telemetry;  // left out when empty
    std::vector<agent_protocol::JobReport> jobs;
    std::optional<std::vector<std::string>> warm_images;  // digests; left out when empty

    std::string manifest_hash() const {
        return other_manifest_hash ? *other_manifest_hash : agent_protocol::manifest_hash(manifest);
    }
    agent_protocol::Enroll enroll(const std::string& token,
                                  const crypto::Ed25519PublicKey& key) const {
        agent_protocol::Enroll enroll;
        enroll.token = {token};
        enroll.public_key = {agent_protocol::key_text(key)};
        enroll.protocol_version = {agent_protocol::protocol_version};
        enroll.agent_version = {"1.0.0"};
        enroll.manifest = manifest;
        enroll.manifest_hash = {manifest_hash()};
        enroll.boot_id = {boot_id};
        return enroll;
    }
    agent_protocol::Heartbeat heartbeat(Time sent_at) const {
        agent_protocol::Heartbeat beat;
        beat.boot_id = {boot_id};
        beat.fence = {fence};
        beat.manifest_hash = {manifest_hash()};
        beat.sent_at = sent_at;
        beat.host_mode = host_mode;
        beat.telemetry = telemetry;
        beat.jobs.value = jobs;
        if (warm_images)
            for (auto& told = beat.warm_images.emplace().value;
                 const std::string& digest : *warm_images)
                told.push_back({digest});
        return beat;
    }
    agent_protocol::Ack ack(agent_protocol::AckResult result) const {
        agent_protocol::Ack ack;
        ack.fence = {fence};
        ack.result = result;
        return ack;
    }
    agent_protocol::Ack rejection(const std::string& code) const {
        agent_protocol::Ack refused = ack(agent_protocol::AckResult::rejected);
        refused.code = wire::Text<1, 64>{code};
        return refused;
    }
    template <class Detail>
    agent_protocol::Ack ack(agent_protocol::AckResult result, const Detail& detail) const {
        agent_protocol::Ack with = ack(result);
        with.detail = agent_protocol::OpenObject{wire::encode(detail)};
        return with;
    }
    // What happened under a lease.
    template <class Evidence>
    agent_protocol::JobEvent event(agent_protocol::JobEventKind kind, std::int64_t lease_seq,
                                   Time at, const Evidence& evidence) const {
        return {{fence}, {lease_seq}, kind, at, {wire::encode(evidence)}};
    }
};

}  // namespace berth::test
