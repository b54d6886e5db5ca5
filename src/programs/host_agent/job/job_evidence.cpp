#include "host_agent/job/job_evidence.hpp"

#include <algorithm>

namespace berth::host_agent {

std::string ready_evidence(const JobRecord& record, const std::string& public_host,
                           const ReadyTimes& times) {
    ReadySaid said;
    said.container_id = record.container_id;
    said.boot_id = record.boot_id;
    for (const Announced& door : record.doors) {
        EndpointSaid endpoint{"http", door.name, public_host, door.port, {}};
        if (!door.tls_key_sha256.empty()) endpoint.tls_key_sha256 = door.tls_key_sha256;
        said.endpoints.push_back(std::move(endpoint));
    }
    if (record.ssh_port.value != 0)
        said.endpoints.push_back({"ssh", "ssh", public_host, record.ssh_port, {}});
    said.ssh_host_key_fingerprint = record.ssh_host_key_fingerprint;
    said.time_to_ready = {{times.pull_ms},
                          {times.load_ms},
                          {std::max<std::int64_t>(0, times.all_ms - times.load_ms)}};
    return wire::encode(said);
}

std::string end_evidence(const JobRecord& record, const Look& look, const EndDetails& details) {
    EndSaid said;
    if (!record.container_id.empty()) {
        said.container_id = record.container_id;
        said.boot_id = details.boot_id;
    }
    if (record.runtime_ms) said.runtime_ms = wire::Decimal{record.runtime_ms->value};
    if (look.exit_code && *look.exit_code >= 0) said.exit_code = wire::Count{*look.exit_code};
    if (look.status == Look::Status::exited) said.oom = look.out_of_memory;
    if (!details.code.empty()) said.code = details.code;
    if (!details.sentence.empty()) said.message = brief(details.sentence);
    said.reason = record.stop_reason;
    if (look.egress_bytes) said.egress_bytes = wire::Decimal{*look.egress_bytes};
    said.log_tail = details.log_tail;
    return wire::encode(said);
}

bool is_wiped(const CleanedSaid& said) {
    return said.volume_recreated &&
           std::all_of(said.gpus.begin(), said.gpus.end(), [](const gpu::Wipe& wipe) {
               return !wipe.error && wipe.verified_bytes.value >= wipe.wiped_bytes.value;
           });
}

}  // namespace berth::host_agent
