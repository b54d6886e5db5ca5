// What the server wants of an agent: signed commands and leases, and how an agent acknowledges a
// command. What a command carries is in payloads.hpp.
#pragma once

#include <boost/describe.hpp>

#include "agent_protocol/reach.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

using CommandId = Id<struct CommandTag>;

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
    std::optional<Reach> reach = {};
    std::optional<std::string> reach_why = {};
};
BOOST_DESCRIBE_STRUCT(Orders, (),
                      (server_time, fence, commands, leases, warnings, reach, reach_why))
constexpr auto wire_docs(const Orders*) {
    return std::to_array<wire::Doc>({
        {"server_time", "By the server's clock."},
        {"fence", "The server's; an agent keeps the highest it has seen.", "3"},
        {"commands", "Each comes again until it was acknowledged or has expired."},
        {"leases", "Of the jobs the machine holds; heartbeats grant new ones."},
        {"warnings", "For the host's log: what looks wrong and changed nothing.",
         "sent_at is 90 s behind our clock"},
        {"reach", "How jobs on the machine are reached, as its last test found.", "gate"},
        {"reach_why", "Why so, for the owner.",
         "Its own ports did not answer from outside; a gate leads to it."},
    });
}

// An object that may hold more than is read of it, and is kept within records of ours as it came.
using OpenObject = wire::ShallowObject<16>;

enum class AckResult { accepted, completed, rejected };
BOOST_DESCRIBE_ENUM(AckResult, accepted, completed, rejected)

struct Ack {
    wire::Decimal fence;
    AckResult result = AckResult::accepted;
    std::optional<wire::Text<1, 64>> code;
    std::optional<OpenObject> detail;
};
BOOST_DESCRIBE_STRUCT(Ack, (), (fence, result, code, detail))
constexpr auto wire_docs(const Ack*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"result", "Begun, done, or refused."},
        {"code", "Why it was refused, such as UNKNOWN_COMMAND_KIND.", "STALE_FENCE"},
        {"detail",
         "What the kind asks for: BUDGET its numbers, ROTATE_KEY the new key; of one that is "
         "refused, why."},
    });
}

enum class CommandState { queued, accepted, completed, rejected, expired, cancelled };
BOOST_DESCRIBE_ENUM(CommandState, queued, accepted, completed, rejected, expired, cancelled)

// The answer to an Ack.
struct AckTaken {
    CommandId command_id;
    CommandState state = CommandState::accepted;
};
BOOST_DESCRIBE_STRUCT(AckTaken, (), (command_id, state))
constexpr auto wire_docs(const AckTaken*) {
    return std::to_array<wire::Doc>({
        {"command_id", "The command that was acknowledged."},
        {"state", "Of the command from now on."},
    });
}

}  // namespace berth::agent_protocol
