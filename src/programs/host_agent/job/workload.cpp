#include "host_agent/job/workload.hpp"

#include <algorithm>
#include <limits>

#include "host_agent/core/host.hpp"

namespace berth::host_agent {
namespace {

constexpr std::int64_t gib = 1024LL * 1024 * 1024;
constexpr std::string_view key_mark = "{BERTH_API_KEY}";

// An offer may promise more than there are numbers for.
std::int64_t bytes_of(wire::Count gibibytes) {
    return std::min(gibibytes.value, std::numeric_limits<std::int64_t>::max() / gib) * gib;
}

}  // namespace

void fill_in_key(Workload& workload, const std::string& key) {
    auto& variables = workload.environment;
    for (auto each = variables.begin(); each != variables.end();) {
        std::string value = each->second;
        std::size_t at = value.find(key_mark);
        if (at == std::string::npos) {
            ++each;
            continue;
        }
        for (; at != std::string::npos; at = value.find(key_mark, at + key.size()))
            value.replace(at, key_mark.size(), key);
        workload.secrets[each->first] = std::move(value);
        each = variables.erase(each);
    }
}

Workload workload_of(const JobRecord& record, const agent_protocol::StartPayload& order,
                     const JobContext& context) {
    Workload workload;
    workload.job = record.job_id;
    workload.folder = context.records.folder(record.job_id);
    workload.kind = JobKind::custom;
    workload.image = order.image_digest;
    workload.environment = order.env;
    // Engines have names of their own for the key that they are to ask for.
    for (const char* name : {"BERTH_API_KEY", "VLLM_API_KEY", "LLAMA_API_KEY"})
        workload.secrets[name] = order.endpoint_api_key;
    fill_in_key(workload, order.endpoint_api_key);
    if (order.hub_token.value)
        for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
            workload.secrets[name] = *order.hub_token.value;
    workload.ssh_public_key = order.ssh_public_key.value;
    workload.ssh_port = record.ssh_port.value;
    workload.is_by_gate = record.is_by_gate();
    for (const Announced& door : record.doors)
        for (const agent_protocol::Exposed& exposed : order.exposes)
            if (exposed.name == door.name)
                workload.serves.push_back({door.name, exposed.port.value, door.local_port.value});
    if (order.command) workload.command = *order.command;
    workload.has_init = workload.ssh_public_key.has_value() && workload.serves.empty();
    workload.limits.memory_bytes = ram_bytes(context.settings).value_or(8 * gib) * 9 / 10;
    workload.limits.cpus = cpu_cores(context.settings);
    if (context.settings.share)
        workload.limits.pids =
            std::min(workload.limits.pids, context.settings.share->pids.value * 9 / 10);
    workload.limits.work_bytes = bytes_of(order.included_disk_gib);
    workload.limits.egress_bytes = bytes_of(order.included_egress_gib);
    // What is simulated cannot be handed on.
    if (context.settings.simulate_gpu.empty()) workload.gpus = context.gpu_names();
    if (!order.template_.value) return workload;
    workload.kind = order.template_.value->kind;
    workload.engine = order.template_.value->engine;
    return workload;
}

}  // namespace berth::host_agent
