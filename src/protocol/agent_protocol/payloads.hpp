// What the commands of each kind carry, and what their acknowledgements say in `detail`. An agent
// passes over members that it does not know.
#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent_protocol/evidence.hpp"
#include "agent_protocol/orders.hpp"
#include "agent_protocol/reach.hpp"
#include "wire/open.hpp"

namespace berth::agent_protocol {

// The payload of a command as the struct of its kind. Throws a Problem INVALID_INPUT.
template <class Payload>
Payload payload_of(const Command& command) {
    return wire::decode_known<Payload>(command.payload.text, "payload");
}

// In an acknowledgement that is rejected.
struct RefusalDetail {
    Maybe<HostText> message;
    Maybe<bool> by_policy;
};
BOOST_DESCRIBE_STRUCT(RefusalDetail, (), (message, by_policy))
constexpr auto wire_docs(const RefusalDetail*) {
    return std::to_array<wire::Doc>({
        {"message",
         "Why, in a sentence that the host and, of START, the renter read: without secrets, and "
         "without what lies where on the host.",
         "The host takes no job below a price that its owner has set."},
        {"by_policy",
         "Of START: whether rules that the owner has set on the host refuse it. That is held "
         "against "
         "nobody, and the host is not asked for the same template again for some hours.",
         "true"},
    });
}

// ---- START

enum class TemplateKind { model, classical, custom };
BOOST_DESCRIBE_ENUM(TemplateKind, model, classical, custom)

struct StartTemplate {
    Uuid id;
    std::string template_id;
    TemplateKind kind = TemplateKind::model;
    std::string engine;
};
BOOST_DESCRIBE_STRUCT(StartTemplate, (), (id, template_id, kind, engine))
constexpr auto wire_docs(const StartTemplate*) {
    return std::to_array<wire::Doc>({
        {"id", "The template."},
        {"template_id", "Its name in addresses.", "vllm-llama-3-1-8b"},
        {"kind", "What it is for; only model is run by hosts without containers."},
        {"engine", "The program that serves it, such as vllm.", "vllm"},
    });
}

struct Exposed {
    std::string name;
    wire::Integer<1, 65535> port;
    std::string protocol;
};
BOOST_DESCRIBE_STRUCT(Exposed, (), (name, port, protocol))
constexpr auto wire_docs(const Exposed*) {
    return std::to_array<wire::Doc>({
        {"name", "To be said again as the name of the endpoint in READY.", "openai"},
        {"port", "Inside the container.", "8000"},
        {"protocol", "http, ssh or tcp. Each http one gets an endpoint of kind http.", "http"},
    });
}

// What every workload runs under. There is one such profile (launch_profile()).
struct LaunchProfile {
    wire::Count uid;
    wire::Count gid;
    bool read_only_root = false;
    std::vector<std::string> writable;
    std::vector<std::string> read_only;
    std::vector<std::string> capabilities;
    bool no_new_privileges = false;
    bool host_network = false;
    bool privileged = false;
    // Later than the rest, which no agent takes with other values than it had then.
    std::optional<std::vector<std::string>> memory;
};
BOOST_DESCRIBE_STRUCT(LaunchProfile, (),
                      (uid, gid, read_only_root, writable, read_only, capabilities,
                       no_new_privileges, host_network, privileged, memory))
constexpr auto wire_docs(const LaunchProfile*) {
    return std::to_array<wire::Doc>({
        {"uid", "The user it runs as.", "10001"},
        {"gid", "The group it runs as.", "10001"},
        {"read_only_root", "Whether its image cannot be written to.", "true"},
        {"writable", "What is mounted for writing, and nothing else is but for `memory`.", "/work"},
        {"read_only", "What is mounted for reading.", "/cache"},
        {"capabilities", "Which capabilities of Linux it has: none."},
        {"no_new_privileges", "Whether nothing that it starts can have more than it has.", "true"},
        {"host_network", "Whether it shares the host's network.", "false"},
        {"privileged", "Whether it can do what the host can.", "false"},
        {"memory",
         "What is mounted for writing and lies in the job's own memory; left out: as the agent has "
         "it.",
         "/tmp"},
    });
}

// The mandatory profile: what the server says in START, and what an agent runs workloads under.
LaunchProfile launch_profile();
// The member in which a profile is another than the mandatory one; empty when it is that one. A
// weaker one is never run under, and a stricter one would be run under ours, which is weaker. What
// an older server does not say yet is no difference.
std::optional<std::string> find_difference(const LaunchProfile& profile);

struct StartPayload {
    JobId job_id;
    wire::Decimal lease_seq;
    wire::Decimal budget_version;
    Micro budget_micro;
    wire::Nullable<Time> funded_through;
    Micro rate_micro_per_hour;
    wire::Count duration_limit_s;
    std::string image_digest;
    std::optional<std::vector<std::string>> command;
    wire::Nullable<StartTemplate> template_;
    std::map<std::string, std::string> env;
    std::vector<Exposed> exposes;
    wire::Nullable<std::string> readiness_path;
    wire::Count gpu_count;
    wire::Nullable<std::string> ssh_public_key;
    std::string endpoint_api_key;
    wire::Nullable<std::string> hub_token;
    wire::Count included_disk_gib;
    wire::Count included_egress_gib;
    wire::Count start_deadline_s;
    LaunchProfile profile;
    std::optional<Reach> reach;
};
BOOST_DESCRIBE_STRUCT(StartPayload, (),
                      (job_id, lease_seq, budget_version, budget_micro, funded_through,
                       rate_micro_per_hour, duration_limit_s, image_digest, command, template_, env,
                       exposes, readiness_path, gpu_count, ssh_public_key, endpoint_api_key,
                       hub_token, included_disk_gib, included_egress_gib, start_deadline_s, profile,
                       reach))
constexpr auto wire_docs(const StartPayload*) {
    return std::to_array<wire::Doc>({
        {"job_id", "The job, as beside the payload."},
        {"lease_seq", "The first lease of the job, as beside the payload.", "1"},
        {"budget_version", "Of the budget below.", "1"},
        {"budget_micro", "What the renter has set aside.", "5000000"},
        {"funded_through", "Null: the time that is paid for begins with READY.", "null"},
        {"rate_micro_per_hour", "What an hour costs.", "2000000"},
        {"duration_limit_s", "It ends after this many seconds at the latest.", "3600"},
        {"image_digest", "What to run, by its digest and by nothing else.",
         "docker.io/vllm/vllm-openai@sha256:"
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"command",
         "The program and its arguments, in place of what the image starts; left out: that. Where "
         "SSH is all that a job gives, the container goes on when that ends with 0 at once, as a "
         "shell without a terminal does.",
         "vllm"},
        {"template", "Null for an image of the renter's own."},
        {"env",
         "Variables of the workload. Secrets are not among them; {BERTH_API_KEY} in a value stands "
         "for endpoint_api_key, and makes it one.",
         "0.9"},
        {"exposes", "What it listens on."},
        {"readiness_path",
         "Asked by GET until it answers, and then all the time; null: /v1/models of a model, / of "
         "anything else, and only before READY.",
         "/health"},
        {"gpu_count", "How many GPUs the machine has: all of them are the job's.", "1"},
        {"ssh_public_key", "Who may come in by SSH, as a line of authorized_keys; null: nobody.",
         "null"},
        {"endpoint_api_key",
         "What the workload's http endpoints must ask for as a Bearer token; given to it as "
         "BERTH_API_KEY, VLLM_API_KEY and LLAMA_API_KEY.",
         "bjk_…"},
        {"hub_token",
         "The renter's token of the model hub, given to the workload as HF_TOKEN and "
         "HUGGING_FACE_HUB_TOKEN; null mostly.",
         "null"},
        {"included_disk_gib", "How large its work volume is.", "100"},
        {"included_egress_gib", "How much it may send; counted, not cut.", "1000"},
        {"start_deadline_s", "How long loading and the first answer may take.", "1800"},
        {"profile",
         "What it must run under. A profile other than the mandatory one is refused with "
         "HOST_REJECTED."},
        {"reach",
         "How the job is to be reached: at ports of the host, or by doors of a gate; left out: "
         "direct.",
         "direct"},
    });
}

// ---- STOP, BUDGET, CLEAN

struct StopPayload {
    std::string reason;
    wire::Count grace_s;
};
BOOST_DESCRIBE_STRUCT(StopPayload, (), (reason, grace_s))
constexpr auto wire_docs(const StopPayload*) {
    return std::to_array<wire::Doc>({
        {"reason", "Why, for the host's log.", "renter_stop"},
        {"grace_s", "Seconds between asking it to end and ending it.", "10"},
    });
}

// Also the detail of its acknowledgement.
struct BudgetPayload {
    wire::Decimal budget_version;
    Micro budget_micro;
    wire::Nullable<Time> funded_through;
};
BOOST_DESCRIBE_STRUCT(BudgetPayload, (), (budget_version, budget_micro, funded_through))
constexpr auto wire_docs(const BudgetPayload*) {
    return std::to_array<wire::Doc>({
        {"budget_version", "One more with each change; a lower one is refused.", "2"},
        {"budget_micro", "What the renter has set aside by now.", "6000000"},
        {"funded_through", "The workload is stopped at this; null before it is READY."},
    });
}

struct CleanPayload {};
BOOST_DESCRIBE_STRUCT(CleanPayload, (), ())

// ---- ROTATE_KEY, SERVER_KEY

struct RotateKeyPayload {
    std::string nonce;
};
BOOST_DESCRIBE_STRUCT(RotateKeyPayload, (), (nonce))
constexpr auto wire_docs(const RotateKeyPayload*) {
    return std::to_array<wire::Doc>({
        {"nonce", "To be signed, as text, by the new key.", "q83vASNFZ4mrze8BI0VniQ"},
    });
}

// In an acknowledgement of ROTATE_KEY that is completed.
struct RotateKeyDetail {
    wire::Text<1, 64> public_key;
    wire::Text<1, 128> signature;
};
BOOST_DESCRIBE_STRUCT(RotateKeyDetail, (), (public_key, signature))
constexpr auto wire_docs(const RotateKeyDetail*) {
    return std::to_array<wire::Doc>({
        {"public_key", "The machine's new Ed25519 key, the raw 32 bytes in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
        {"signature", "Of the nonce's text by the new key, the raw 64 bytes in base64.",
         "5VZDAMNgrHKQhuLMgG6CioSHfx64"
         "5dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw=="},
    });
}

struct ServerKeyPayload {
    std::string key_id;
    std::string public_key;
};
BOOST_DESCRIBE_STRUCT(ServerKeyPayload, (), (key_id, public_key))
constexpr auto wire_docs(const ServerKeyPayload*) {
    return std::to_array<wire::Doc>({
        {"key_id", "The name of the new key in commands.", "9a51c0f66f1d0e9c"},
        {"public_key", "The server's next Ed25519 key, the raw 32 bytes in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
    });
}

}  // namespace berth::agent_protocol
