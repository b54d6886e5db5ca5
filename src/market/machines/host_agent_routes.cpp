// The routes of host agents, and those by which owners bring machines in, one declaration each.
#include "machines/host_agents.hpp"
#include "machines/listing.hpp"
#include "machines/network_speed.hpp"
#include "machines/settings.hpp"

namespace berth::machines {
namespace {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Query;
using api::Work;

const api::RateRule heartbeat_rate{"heartbeats",
                                   api::rate_setting<&Settings::rate_heartbeats_per_minute>,
                                   std::chrono::minutes(1), api::RateRule::By::account};
const api::RateRule enrollment_rate{"enrolments",
                                    api::rate_setting<&Settings::rate_enrolments_per_hour>,
                                    std::chrono::hours(1), api::RateRule::By::address};

// Progress comes every second at most; what else is told of a job is kept.
const api::RateRule job_event_rate{"job events",
                                   api::rate_setting<&Settings::rate_job_events_per_minute>,
                                   std::chrono::minutes(1), api::RateRule::By::account};

// Each is kept: what a driver says about a broken GPU is short, and comes seldom.
const api::RateRule health_rate{"health events",
                                [](const settings::Snapshot&) -> std::int64_t { return 30; },
                                std::chrono::minutes(1), api::RateRule::By::account};

constexpr std::size_t manifest_bytes_max = 256 * 1024;
constexpr std::size_t enrollment_bytes_max = 64 * 1024;  // its proof is in its body
constexpr std::size_t event_bytes_max = 16 * 1024;

}  // namespace

void HostAgents::add_routes(api::Router& router) {
    add_owner_routes(router);
    add_agent_routes(router);
    add_speed_routes(router);
}

void HostAgents::add_owner_routes(api::Router& router) {
    router.add({.method = "POST",
                .path = "/api/v1/hosts/enrollments",
                .name = "create_enrollment",
                .group = "hosts",
                .summary = "A one-time token by which a machine enrolls.",
                .access = Access::host_to_be,
                .work = Work::write,
                .idempotent = true,
                .status = 201,
                .errors = {{Code::forbidden, "the account may not host"}}},
               [this](Call& call, const Body<NewEnrollment>& body) {
                   return enrollments_.create(call, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/hosts/enrollments/{id}",
                .name = "show_enrollment",
                .group = "hosts",
                .summary = "Whether a machine has come in by a token.",
                .access = Access::host,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<EnrollmentPath>& path) {
                   return enrollments_.show(call, path->id);
               });
    router.add({.method = "POST",
                .path = "/api/v1/hosts/machines/{id}/rotate-key",
                .name = "rotate_machine_key",
                .group = "hosts",
                .summary = "Asks the machine's agent for a new key; the old one dies with it.",
                .access = Access::host_or_admin,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<MachinePath>& path) {
                   return messages_.rotate_key(call, path->id);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/host-agent/enroll",
         .name = "enroll_machine",
         .group = "host agent",
         .summary = "Redeems an enrollment token: a machine comes in.",
         .access = Access::anyone,
         .work = Work::write,
         .status = 201,
         .errors = {{Code::authorization_invalid, "the token is unknown, was used, or has expired"},
                    Code::unsupported_protocol_version},
         .siblings = {supported_versions},
         .rate = &enrollment_rate,
         .body_bytes_max = enrollment_bytes_max},
        [this](Call& call, const Body<agent_protocol::Enroll>& body) {
            return enrollments_.redeem(call, *body);
        });
}

void HostAgents::add_agent_routes(api::Router& router) {
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/heartbeat",
                .name = "send_heartbeat",
                .group = "host agent",
                .summary = "The machine is there; what is it to do?",
                .access = Access::machine,
                .work = Work::blocking,
                .rate = &heartbeat_rate},
               [this](Call& call, const Body<agent_protocol::Heartbeat>& body) {
                   return heartbeats_.take(call, *body, *database_);
               });
    router.add({.method = "GET",
                .path = "/api/v1/host-agent/commands",
                .name = "wait_for_commands",
                .group = "host agent",
                .summary = "The commands that wait for the machine, or the next one to come.",
                .access = Access::machine,
                .work = Work::blocking},
               [this](Call& call, const Query<WaitForCommands>& query) {
                   return messages_.wait(call, *query, *database_);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/host-agent/commands/{id}/ack",
         .name = "acknowledge_command",
         .group = "host agent",
         .summary = "How the agent took a command; it is not sent again.",
         .access = Access::machine,
         .work = Work::write,
         .errors = {Code::not_found,
                    Code::stale_fence,
                    Code::command_expired,
                    Code::budget_version_older,
                    Code::budget_funding_mismatch,
                    Code::unknown_command_kind,
                    {Code::authorization_invalid, "the new key did not prove itself"},
                    {Code::conflict, "it was acknowledged otherwise before"}},
         .body_bytes_max = event_bytes_max},
        [this](Call& call, const Path<CommandPath>& path, const Body<agent_protocol::Ack>& body) {
            return messages_.acknowledge(call, path->id, *body);
        });
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/host-agent/jobs/{id}/events",
         .name = "report_job_event",
         .group = "host agent",
         .summary = "Something happened to a job on the machine.",
         .access = Access::machine,
         .work = Work::write,
         .errors = {Code::not_found,
                    Code::stale_fence,
                    Code::lease_seq_replay,
                    {Code::conflict, "the job is in no state for it"}},
         .rate = &job_event_rate},
        [this](Call& call, const Path<AgentJobPath>& path,
               const Body<agent_protocol::JobEvent>& body) {
            return messages_.prepare_event(call, path->id, *body, *database_);
        },
        [this](Call& call, const EventFacts& facts, const Path<AgentJobPath>& path,
               const Body<agent_protocol::JobEvent>& body) {
            return messages_.take_event(call, path->id, *body, facts);
        });
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/manifest",
                .name = "send_manifest",
                .group = "host agent",
                .summary = "What the machine is now.",
                .access = Access::machine,
                .work = Work::write,
                .body_bytes_max = manifest_bytes_max},
               [this](Call& call, const Body<agent_protocol::NewManifest>& body) {
                   return messages_.take_manifest(call, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/events",
                .name = "report_health",
                .group = "host agent",
                .summary = "Something is wrong with a GPU of the machine.",
                .access = Access::machine,
                .work = Work::write,
                .errors = {Code::stale_fence},
                .rate = &health_rate,
                .body_bytes_max = event_bytes_max},
               [this](Call& call, const Body<agent_protocol::HealthEvent>& body) {
                   return messages_.take_health(call, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/leave",
                .name = "leave",
                .group = "host agent",
                .summary = "The machine goes for good; its key dies.",
                .access = Access::machine,
                .work = Work::write,
                .status = 204,
                .errors = {{Code::conflict, "its last job is not over and cleaned"}}},
               [this](Call& call) { messages_.leave(call); });
}

void HostAgents::add_speed_routes(api::Router& router) {
    router.add({.method = "GET",
                .path = "/api/v1/host-agent/speed-test",
                .name = "test_download",
                .group = "host agent",
                .summary = "Bytes to measure the way to the machine with.",
                .access = Access::machine,
                .work = Work::read,
                .media = {{"application/octet-stream", "As many bytes as were asked for."}},
                .errors = {{Code::conflict, "no test of the machine is in progress"}}},
               [](Call& call, const Query<SpeedTestDownload>& query) {
                   require_test(call.tx(), machine_of(call.caller));
                   return api::Streamed{
                       noise(query->bytes.value, load_big_endian(call.random.bytes(8).data()))};
               });
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/speed-test",
                .name = "test_upload",
                .group = "host agent",
                .summary = "Bytes to measure the way from the machine with.",
                .access = Access::machine,
                .work = Work::read,
                .errors = {{Code::conflict, "no test of the machine is in progress"}},
                .body_bytes_max = static_cast<std::size_t>(speed_test_bytes_max),
                .body_sink = [] { return std::make_shared<Upload>(); }},
               [](Call& call, const Query<SpeedTestUpload>& query) {
                   const auto* const upload = dynamic_cast<Upload*>(call.request.sink.get());
                   const std::int64_t size = upload == nullptr ? 0 : upload->bytes();
                   if (size != query->bytes.value)
                       throw Problem(Code::invalid_input, "query.bytes: is not how many came");
                   require_test(call.tx(), machine_of(call.caller));
                   return SpeedTestTaken{{size}};
               });
}

}  // namespace berth::machines
