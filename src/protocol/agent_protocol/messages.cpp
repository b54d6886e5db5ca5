#include "agent_protocol/messages.hpp"

#include <fmt/format.h>

#include <set>

#include "agent_protocol/gate_ticket.hpp"
#include "agent_protocol/proof.hpp"
#include "agent_protocol/types.hpp"
#include "base/check.hpp"
#include "wire/open.hpp"
#include "wire/schema.hpp"

namespace berth::agent_protocol {
namespace {

// What the server reads is closed, but for evidence; an agent passes over what it does not know.
template <class T>
std::string closed(std::string_view json) {
    return wire::encode(wire::decode<T>(json, "message"));
}
template <class T>
std::string open(std::string_view json) {
    return wire::encode(wire::decode_known<T>(json, "message"));
}

template <class T>
constexpr Message to_server(std::string_view name, std::string_view about) {
    return {name, about, &wire::type_of<T>, &closed<T>};
}
template <class T>
constexpr Message to_agent(std::string_view name, std::string_view about) {
    return {name, about, &wire::type_of<T>, &open<T>};
}
template <class T>
constexpr Message payload(CommandKind kind, std::string_view about) {
    return {wire_name(kind), about, &wire::type_of<T>, &open<T>, Frame::payload};
}
template <class T>
constexpr Message evidence(JobEventKind kind, std::string_view about, std::string_view usual = {}) {
    return {wire_name(kind), about, &wire::type_of<T>, &open<T>, Frame::job_evidence, usual};
}

constexpr Message coming_in[] = {
    to_server<Enroll>("Enroll",
                      "The agent sends it by `POST /api/v1/host-agent/enroll`, without a "
                      "signature: the token is its proof."),
    to_agent<Enrolled>("Enrolled", "The answer, 201. The agent keeps all of it on disk."),
    to_server<NewManifest>("NewManifest",
                           "`POST /api/v1/host-agent/manifest`, when the machine is not what it "
                           "was, or the agent is of another version."),
    to_agent<ManifestTaken>("ManifestTaken", "The answer, 200."),
};

constexpr Message beating[] = {
    to_server<Heartbeat>("Heartbeat",
                         "`POST /api/v1/host-agent/heartbeat`, every `heartbeat_s` seconds."),
    to_agent<Orders>("Orders",
                     "The answer, 200; also that of `GET /api/v1/host-agent/commands?wait_s=`."),
    to_server<Ack>("Ack", "`POST /api/v1/host-agent/commands/{command_id}/ack`."),
    to_agent<AckTaken>("AckTaken", "The answer, 200."),
};

constexpr Message commands[] = {
    payload<QualifyPayload>(CommandKind::qualify, "Test the machine and send a TestResult."),
    payload<StartPayload>(CommandKind::start, "Run a workload."),
    payload<StopPayload>(CommandKind::stop, "End it."),
    payload<BudgetPayload>(CommandKind::budget,
                           "The budget has changed. The acknowledgement says the same three "
                           "members in `detail`."),
    payload<CleanPayload>(CommandKind::clean, "Wipe what the job left, and tell CLEANED."),
    payload<RotateKeyPayload>(CommandKind::rotate_key,
                              "Make a new key. Acknowledged as completed, in a request that the "
                              "old key signs."),
    {"ROTATE_KEY, acknowledged", "The `detail` of the acknowledgement.",
     &wire::type_of<RotateKeyDetail>, &open<RotateKeyDetail>, Frame::detail},
    payload<ServerKeyPayload>(CommandKind::server_key,
                              "Pin this key too, and alone from the first command that it "
                              "signed."),
    {"Any of them, refused", "The `detail` of an acknowledgement that is `rejected`.",
     &wire::type_of<RefusalDetail>, &open<RefusalDetail>, Frame::refusal},
};

constexpr Message events[] = {
    to_server<JobEvent>("JobEvent",
                        "`POST /api/v1/host-agent/jobs/{job_id}/events`, for each thing that "
                        "happens to a job."),
    to_agent<JobEventTaken>("JobEventTaken", "The answer, 200."),
    evidence<StartedEvidence>(JobEventKind::started, "The workload was started."),
    evidence<ProgressEvidence>(JobEventKind::progress,
                               "The start goes on; at most one a second, at least one in 900 s."),
    evidence<ReadyEvidence>(JobEventKind::ready,
                            "The workload answers. Paying begins when the server has taken it; "
                            "409 means that the server could not reach it: try again."),
    evidence<UsageEvidence>(JobEventKind::usage,
                            "How it does, about once a minute, and whenever `engine` changes."),
    evidence<PreemptNoticeEvidence>(JobEventKind::preempt_notice,
                                    "The owner wants the machine back; the next lease says until "
                                    "when the workload may run."),
    evidence<EndEvidence>(JobEventKind::exited, "It ended by itself, or could not be started.",
                          R"({"container_id":"3f2a9c","boot_id":"6a1f2c1e","exit_code":28,)"
                          R"("oom":false,"code":"DISK_FULL",)"
                          R"("message":"The disk was full before the image was there.",)"
                          R"("log_tail":"No space left on device\n"})"),
    evidence<EndEvidence>(JobEventKind::stopped,
                          "Nothing of it runs any more. Told after EXITED too, if it was READY.",
                          R"({"container_id":"3f2a9c","boot_id":"6a1f2c1e","runtime_ms":"421337",)"
                          R"("exit_code":0,"oom":false,"reason":"funded_through",)"
                          R"("egress_bytes":"1048576"})"),
    evidence<CleanedEvidence>(JobEventKind::cleaned,
                              "Its files are gone and every GPU's memory was wiped, or could not "
                              "be; then the server puts the machine aside and asks again."),
    to_server<HealthEvent>("HealthEvent", "`POST /api/v1/host-agent/events`: trouble with a GPU."),
    to_agent<HealthEventTaken>("HealthEventTaken", "The answer, 200."),
    {"HealthEvent, its evidence", "What goes with every kind of HealthEvent.",
     &wire::type_of<HealthEvidence>, &open<HealthEvidence>, Frame::health_evidence},
};

constexpr Message testing[] = {
    to_server<ProofBegin>("ProofBegin",
                          "`POST /api/v1/host-agent/qualification/{run_id}/proof`, when every "
                          "card of the machine is ready to work. Cards that cannot be proven are "
                          "not rented out."),
    to_agent<ProductOrder>("ProductOrder", "The answer, 200: what to compute."),
    to_server<ProductCommitment>("ProductCommitment",
                                 "`POST /api/v1/host-agent/qualification/{run_id}/proof/product`: "
                                 "what every card computed."),
    to_agent<LaneOrder>("LaneOrder", "The answer, 200: rows to show, and lanes to make."),
    to_server<LaneCommitment>("LaneCommitment",
                              "`POST /api/v1/host-agent/qualification/{run_id}/proof/lanes`: what "
                              "fills at least 80 % of the memory of every card."),
    to_agent<BlockOrder>("BlockOrder", "The answer, 200: blocks to show, at once."),
    to_server<BlockAnswer>("BlockAnswer",
                           "`POST /api/v1/host-agent/qualification/{run_id}/proof/blocks`."),
    to_agent<ProofTaken>("ProofTaken", "The answer, 200."),
    to_server<TestResult>("TestResult",
                          "`POST /api/v1/host-agent/qualification/{run_id}/result`, after "
                          "QUALIFY."),
    to_agent<TestJudged>("TestJudged", "The answer, 202."),
};

constexpr Message doors[] = {
    to_server<WantDoors>("WantDoors",
                         "`POST /api/v1/host-agent/doors`, before a job or test that is reached by "
                         "a gate, every five minutes while it lasts, and when it is over."),
    to_agent<DoorsGiven>("DoorsGiven", "The answer, 200."),
    to_agent<Ticket>("Ticket",
                     "What `ticket` of DoorsGiven holds, for the gate to read; the agent shows its "
                     "text as it came."),
    to_agent<LinkLine>("LinkLine", "A line of the gate's answer to `POST /v1/link`."),
};

constexpr Message standings[] = {
    to_agent<MachineStanding>("MachineStanding",
                              "The answer, 200, to `GET /api/v1/host-agent/standing`, and to "
                              "`POST /api/v1/host-agent/drain`, which has no body: a rental that "
                              "runs goes on, and no other is taken."),
};

constexpr Chapter all[] = {
    {"Coming in", coming_in},          {"Heartbeats and orders", beating},
    {"What commands carry", commands}, {"Events and their evidence", events},
    {"The machine test", testing},     {"Doors of a gate", doors},
    {"How it stands", standings},
};

// "must be a UUID" as a noun.
std::string leaf_words(const wire::Type& type) {
    const wire::Leaf& leaf = *type.leaf;
    const std::string rule = leaf.rule_for
                                 ? leaf.rule_for(type, wire::Scalar{wire::Shape::string, ""})
                                 : std::string(leaf.rule);
    constexpr std::string_view be = "must be ";
    constexpr std::string_view have = "must have ";
    if (rule.starts_with(be)) return rule.substr(be.size());
    return "a string of " + rule.substr(have.size());
}

std::string type_words(const wire::Type& type);

std::string list_words(const wire::Type& type) {
    const std::string items = "a list of " + type_words(type.inner());
    if (type.high == std::numeric_limits<std::int64_t>::max()) return items;
    return fmt::format("{}, {} to {} of them", items, type.low, type.high);
}

std::string choices(const wire::Type& type) {
    std::string out = "one of ";
    for (const wire::Enumerator& each : type.enumerators)
        out += fmt::format("{}`{}`", &each == type.enumerators.data() ? "" : ", ", each.name);
    return out;
}

std::string_view short_name(const wire::Type& structure) {
    return structure.name.substr(structure.name.rfind(':') + 1);
}

std::string type_words(const wire::Type& type) {
    switch (type.kind) {
        case wire::Kind::leaf:
        case wire::Kind::secret: return leaf_words(type);
        case wire::Kind::json: return "any JSON";
        case wire::Kind::object_json:
        case wire::Kind::passed_object: return "an object";
        case wire::Kind::enumeration: return choices(type);
        case wire::Kind::structure: return fmt::format("`{}`", short_name(type));
        case wire::Kind::map: return "an object, each member " + type_words(type.inner());
        case wire::Kind::array: return list_words(type);
        case wire::Kind::optional: return type_words(type.inner()) + "; may be left out";
        case wire::Kind::nullable: return type_words(type.inner()) + ", or null";
        case wire::Kind::one_of:
        case wire::Kind::rendered: break;
    }
    require(false, "no message of the protocol has a member of such a kind");
    return {};
}

// The struct that a member holds, however it is wrapped; null when it holds none.
const wire::Type* structure_within(const wire::Type& type) {
    if (type.kind == wire::Kind::structure) return &type;
    return type.inner ? structure_within(type.inner()) : nullptr;
}

// Of members whose name says it all to whoever knows the API, and which the specification therefore
// leaves without a word.
std::string_view plain_meaning(std::string_view member) {
    if (member == "job_id") return "The job.";
    if (member == "run_id") return "The machine test.";
    if (member == "kind") return "What happened.";
    return {};
}

// The members of a struct, and those of the structs within it that were not told of yet.
void append_tables(std::string& out, const wire::Type& type, std::set<const wire::Type*>& told) {
    if (type.members.empty()) return void(out += "\nNo members.\n");
    out += "\n| member | type | meaning |\n| --- | --- | --- |\n";
    for (const wire::Member& member : type.members) {
        const wire::Doc* doc = wire::doc_of(type, member.name);
        out += fmt::format("| `{}` | {} | {} |\n", member.name, type_words(member.type()),
                           doc ? doc->text : plain_meaning(member.name));
    }
    for (const wire::Member& member : type.members) {
        const wire::Type* inner = structure_within(member.type());
        if (!inner || !told.insert(inner).second) continue;
        out += fmt::format("\n`{}`:\n", short_name(*inner));
        append_tables(out, *inner, told);
    }
}

}  // namespace

std::span<const Chapter> chapters() { return all; }

std::string example_of(const Message& message) {
    if (!message.usual.empty()) return std::string(message.usual);
    return wire::json::serialize(wire::example(message.type()));
}

std::string framed_example(const Message& message) {
    wire::json::value inner = wire::json::parse(example_of(message));
    const auto framed = [&](const wire::Type& type, std::string_view place, std::string_view kind) {
        wire::json::object frame = wire::example(type).as_object();
        frame[place] = std::move(inner);
        if (!kind.empty()) frame["kind"] = kind;
        return frame;
    };
    switch (message.frame) {
        case Frame::alone: break;
        case Frame::payload:
            return wire::json::serialize(framed(wire::type_of<Command>(), "payload", message.name));
        case Frame::job_evidence:
            return wire::json::serialize(
                framed(wire::type_of<JobEvent>(), "evidence", message.name));
        case Frame::health_evidence:
            return wire::json::serialize(framed(wire::type_of<HealthEvent>(), "evidence", ""));
        case Frame::detail: {
            wire::json::object ack = framed(wire::type_of<Ack>(), "detail", "");
            ack["result"] = "completed";
            ack.erase("code");
            return wire::json::serialize(ack);
        }
        case Frame::refusal: {
            wire::json::object ack = framed(wire::type_of<Ack>(), "detail", "");
            ack["result"] = "rejected";
            ack["code"] = "HOST_REJECTED";
            return wire::json::serialize(ack);
        }
    }
    return wire::json::serialize(inner);
}

std::string messages_page() {
    std::string out =
        "# The messages of the host agents' protocol\n\n"
        "Made by `berthd agent-messages` from the structs that the server and the agent are built "
        "with; a test holds this page to them. docs/agent-protocol.md tells how they belong "
        "together, what is signed and how.\n\n"
        "The server refuses members that it does not know, except in `evidence` and `detail`, "
        "which it keeps as they came. An agent passes over members that it does not know. \"May be "
        "left out, or null\" are two ways to say the same.\n";
    std::set<const wire::Type*> told;
    for (const Chapter& chapter : all) {
        out += fmt::format("\n## {}\n", chapter.title);
        for (const Message& message : chapter.messages) {
            const wire::Type& type = message.type();
            const bool is_alone = message.frame == Frame::alone;
            out += fmt::format("\n### {}\n\n{}", message.name, message.about);
            if (!is_alone) out += fmt::format(" `{}`:", short_name(type));
            out += '\n';
            if (told.insert(&type).second)
                append_tables(out, type, told);
            else
                out += "\nMembers as above.\n";
            out += fmt::format("\n```json\n{}```\n",
                               wire::indented(wire::json::parse(framed_example(message))));
        }
    }
    return out;
}

}  // namespace berth::agent_protocol
