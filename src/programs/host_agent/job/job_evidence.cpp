#include "host_agent/job/job_evidence.hpp"

#include <algorithm>

#include "wire/open.hpp"

namespace berth::host_agent {

using agent_protocol::EndpointKind;
using agent_protocol::HostText;
using agent_protocol::JobEndpoint;
using agent_protocol::Name;

std::string ready_evidence(const JobRecord& record, const std::vector<DoorPlace>& places,
                           const ReadyTimes& times) {
    auto place = places.begin();
    agent_protocol::ReadyEvidence said;
    said.container_id.value = record.container_id;
    said.boot_id.value = record.boot_id;
    for (const Announced& door : record.doors) {
        JobEndpoint& endpoint = said.endpoints.value.emplace_back();
        endpoint = {EndpointKind::http, {door.name}, {place->host}, {place->port}, {}};
        ++place;
        if (!door.tls_key_sha256.empty())
            endpoint.tls_key_sha256.emplace(wire::Text<64, 71>{door.tls_key_sha256});
    }
    if (record.ssh_port.value != 0)
        said.endpoints.value.push_back(
            {EndpointKind::ssh, {"ssh"}, {place->host}, {place->port}, {}});
    auto& fingerprint = said.ssh_host_key_fingerprint.emplace();
    if (record.ssh_host_key_fingerprint)
        fingerprint = wire::Text<1, 200>{*record.ssh_host_key_fingerprint};
    said.time_to_ready.emplace(
        agent_protocol::TimeToReady{{times.pull_ms},
                                    {times.load_ms},
                                    {std::max<std::int64_t>(0, times.all_ms - times.load_ms)}});
    return wire::encode(said);
}

std::vector<DoorPlace> places_told(const std::string& event) {
    std::vector<DoorPlace> places;
    const auto said = wire::read_known<agent_protocol::JobEvent>(event);
    const auto ready =
        said ? wire::read_known<agent_protocol::ReadyEvidence>(said->evidence.text) : std::nullopt;
    if (!ready) return places;
    for (const JobEndpoint& endpoint : ready->endpoints.value)
        places.push_back({endpoint.host.value, endpoint.port.value});
    return places;
}

std::string end_evidence(const JobRecord& record, const Look& look, const EndDetails& details) {
    agent_protocol::EndEvidence said;
    if (!record.container_id.empty()) {
        said.container_id.emplace(Name{record.container_id});
        said.boot_id.emplace(Name{details.boot_id});
    }
    if (record.runtime_ms) said.runtime_ms.emplace(wire::Decimal{record.runtime_ms->value});
    if (look.exit_code && *look.exit_code >= 0)
        said.exit_code.emplace(agent_protocol::ExitCode{*look.exit_code});
    if (look.status == Look::Status::exited) said.oom.emplace(look.out_of_memory);
    if (!details.code.empty()) said.code.emplace(Name{details.code});
    if (!details.sentence.empty()) said.message.emplace(HostText{details.sentence});
    if (record.stop_reason) said.reason.emplace(HostText{*record.stop_reason});
    if (look.egress_bytes) said.egress_bytes.emplace(wire::Decimal{*look.egress_bytes});
    if (details.log_tail) said.log_tail.emplace(agent_protocol::LogTail{*details.log_tail});
    return wire::encode(said);
}

bool is_wiped(const CleanedEvidence& said) {
    return said.volume_recreated &&
           std::all_of(said.gpus.value.begin(), said.gpus.value.end(), [](const auto& wipe) {
               return !agent_protocol::given(wipe.error) &&
                      wipe.verified_bytes.value >= wipe.wiped_bytes.value;
           });
}

}  // namespace berth::host_agent
