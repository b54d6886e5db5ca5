#include "rentals/ready.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/payloads.hpp"
#include "rentals/event_evidence.hpp"
#include "rentals/serving_jobs.hpp"
#include "wire/open.hpp"

namespace berth::rentals {
namespace {

using agent_protocol::given;

Bytes tls_key_of(const std::string& text) {
    std::string_view hex = text;
    if (hex.starts_with("sha256:")) hex.remove_prefix(7);
    const auto bytes = from_hex(hex);
    if (!bytes || bytes->size() != 32)
        throw Problem(Code::invalid_input,
                      "body.evidence.endpoints: tls_key_sha256 must be 64 hex digits");
    return *bytes;
}

std::string probe_path(const JobTerms& terms) {
    if (terms.readiness_path) return *terms.readiness_path;
    return terms.template_kind == TemplateKind::model ? models_path : "/";
}

// Nobody would see when such a door is not carried, and the job would be billed for it.
void refuse_doors(db::Transaction& tx, const agent_protocol::ReadyEvidence& ready) {
    for (const agent_protocol::JobEndpoint& each : ready.endpoints.value)
        if (gates::is_door(tx, each.host.value, each.port.value))
            throw Problem(Code::conflict,
                          fmt::format("the endpoint {} is a door of a gate, and the job was placed "
                                      "on a machine that is reached directly",
                                      authority(each.host.value, each.port.value)));
}

}  // namespace

agent_protocol::ReadyEvidence read_ready(const agent_protocol::JobEvent& event, EngineTls tls) {
    auto ready =
        wire::decode_known<agent_protocol::ReadyEvidence>(event.evidence.text, "body.evidence");
    for (const agent_protocol::JobEndpoint& each : ready.endpoints.value) {
        if (!event_evidence::is_host(each.host.value))
            throw Problem(Code::invalid_input,
                          "body.evidence.endpoints: host must be a name or an address");
        const auto key = given(each.tls_key_sha256);
        if (key) tls_key_of(key->value);
        // Before anything is dialled: the probe would show the job's key to everybody on the way.
        if (!key && each.kind == EndpointKind::http && tls == EngineTls::required)
            throw Problem(Code::invalid_input,
                          "body.evidence.endpoints: tls_key_sha256 is required of http endpoints");
    }
    return ready;
}

void require_endpoints(const JobTerms& terms, const agent_protocol::ReadyEvidence& ready) {
    const auto names = [&](EndpointKind kind, const std::optional<std::string>& name) {
        const auto& all = ready.endpoints.value;
        return std::any_of(all.begin(), all.end(), [&](const agent_protocol::JobEndpoint& each) {
            return each.kind == kind && (!name || each.name.value == *name);
        });
    };
    const auto refuse = [](const std::string& what) {
        throw Problem(Code::invalid_input, "body.evidence.endpoints: must name " + what);
    };
    for (const auto& exposed :
         wire::decode<std::vector<agent_protocol::Exposed>>(terms.exposes, "exposes"))
        if (exposed.protocol == "http" && !names(EndpointKind::http, exposed.name))
            refuse(fmt::format("the http endpoint '{}' that the template exposes", exposed.name));
    if (terms.template_kind == TemplateKind::model && !names(EndpointKind::http, std::nullopt))
        refuse("an http endpoint, at which the model is served");
    if (terms.has_ssh && !names(EndpointKind::ssh, std::nullopt))
        refuse("an ssh endpoint, which the renter has a key for");
}

std::optional<std::string> told_fingerprint(const agent_protocol::ReadyEvidence& ready) {
    const auto print = given(ready.ssh_host_key_fingerprint);
    return print ? std::optional(print->value) : std::nullopt;
}

std::vector<gates::JobDoor> find_named_doors(db::Transaction& tx, const JobTerms& terms,
                                             const agent_protocol::ReadyEvidence& ready) {
    std::vector<gates::JobDoor> doors;
    if (!terms.is_by_gate()) {
        refuse_doors(tx, ready);
        return doors;
    }
    for (const agent_protocol::JobEndpoint& each : ready.endpoints.value) {
        auto door = gates::door_at(tx, {.machine_id = terms.machine_id,
                                        .job_id = terms.job_id,
                                        .name = each.name.value,
                                        .host = each.host.value,
                                        .port = each.port.value});
        const auto kind =
            each.kind == EndpointKind::ssh ? gates::DoorKind::ssh : gates::DoorKind::http;
        if (!door || door->kind != kind)
            throw Problem(
                Code::conflict,
                fmt::format("the endpoint {} is not a door of this job for '{}'",
                            authority(each.host.value, each.port.value), each.name.value));
        doors.push_back(std::move(*door));
    }
    return doors;
}

// The name of an http endpoint is never asked again: its address is fixed with it. Where a door is
// says the gate's side.
std::vector<StoredEndpoint> to_store(const db::Context& context,
                                     const std::vector<agent_protocol::JobEndpoint>& endpoints,
                                     const Seen& seen) {
    const auto& addresses = seen.addresses;
    if (addresses.size() != endpoints.size())
        throw Problem(Code::conflict, "the endpoints were not asked; say READY again");
    std::vector<StoredEndpoint> all;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        const agent_protocol::JobEndpoint& each = endpoints[i];
        const auto key = given(each.tls_key_sha256);
        StoredEndpoint endpoint{make_uuid(context.now, context.random),
                                each.kind,
                                each.name.value,
                                each.host.value,
                                {each.port.value}};
        if (key) endpoint.tls_key = to_hex(tls_key_of(key->value));
        if (!seen.doors.empty())
            endpoint.door_id = seen.doors[i].door_id;
        else if (each.kind == EndpointKind::http)
            endpoint.address = addresses[i];
        all.push_back(std::move(endpoint));
    }
    return all;
}

std::vector<EndpointProber::Question> questions_about(const JobTerms& terms,
                                                      const agent_protocol::ReadyEvidence& ready,
                                                      const std::vector<gates::JobDoor>& doors,
                                                      const std::string& key) {
    std::vector<EndpointProber::Question> questions;
    std::vector<StoredEndpoint> named;
    for (const agent_protocol::JobEndpoint& each : ready.endpoints.value) {
        EndpointProber::Question question{.endpoint = {each.host.value, each.port.value, {}},
                                          .path = probe_path(terms),
                                          .key = key,
                                          .kind = each.kind};
        if (const auto pinned = given(each.tls_key_sha256))
            question.endpoint.tls_key = tls_key_of(pinned->value);
        if (each.kind == EndpointKind::ssh) question.fingerprint = told_fingerprint(ready);
        if (!doors.empty()) question.dial_host = doors[questions.size()].dial_host;
        questions.push_back(std::move(question));
        StoredEndpoint& stored = named.emplace_back();
        stored.kind = each.kind;
        stored.name = each.name.value;
    }
    const StoredEndpoint* const serving = find_model_endpoint(terms.template_kind, named);
    if (terms.template_kind == TemplateKind::model && serving != nullptr)
        questions[static_cast<std::size_t>(serving - named.data())].serves_model = true;
    return questions;
}

}  // namespace berth::rentals
