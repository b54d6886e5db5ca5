#include "machines/host_agent_messages.hpp"

#include <fmt/format.h>

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "audit/audit.hpp"
#include "crypto/hash_input.hpp"
#include "machines/credentials.hpp"
#include "machines/health_events.hpp"
#include "machines/heartbeats.hpp"
#include "machines/manifests.hpp"
#include "machines/qualification.hpp"
#include "machines/states.hpp"
#include "machines/store.hpp"
#include "machines/told.hpp"
#include "wire/open.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

constexpr Duration rotation_lasts = std::chrono::minutes(15);
constexpr Duration health_told_every = std::chrono::minutes(1);

Machine held(api::Call& call) {
    auto machine = hold(call.tx(), machine_of(call.caller));
    if (!machine) throw api::InvalidCredential("the machine has left");
    return std::move(*machine);
}

// For an operator: the machine of any owner.
Machine hold_any(db::Transaction& tx, MachineId id) {
    auto machine = hold(tx, id);
    if (!machine) throw Problem(Code::not_found, "there is no such machine");
    return std::move(*machine);
}

// The event is kept already. A card that complains without end is told of now and then; that one is
// lost or back was not known before.
void tell_health(const db::Context& context, const Machine& machine,
                 agent_protocol::HealthKind kind, const agent_protocol::HealthEvidence& told) {
    using agent_protocol::HealthKind;
    const std::string name(enum_name(kind));
    const bool turns = kind == HealthKind::gpu_lost || kind == HealthKind::gpu_back;
    if (!turns && count_machine_events(context.tx, machine.machine_id, name,
                                       context.now - health_told_every) > 1)
        return;
    HealthFacts facts;
    facts.kind = name;
    if (const auto address = agent_protocol::given(told.pci_address))
        facts.pci_address = address->value;
    if (const auto code = agent_protocol::given(told.code)) facts.code = wire::Count{code->value};
    events::tell(context, machine_health, machine.owner, machine.machine_id, facts);
}

CommandState state_after(agent_protocol::AckResult result) {
    switch (result) {
        case agent_protocol::AckResult::accepted: return CommandState::accepted;
        case agent_protocol::AckResult::completed: return CommandState::completed;
        case agent_protocol::AckResult::rejected: return CommandState::rejected;
    }
    return CommandState::rejected;
}

// What makes two acknowledgements the same, whatever fence the agent has reached since.
std::string content_of(const agent_protocol::Ack& ack) {
    agent_protocol::Ack content = ack;
    content.fence = {};
    if (content.detail) content.detail->text = wire::canonical(content.detail->text).value_or("");
    return wire::encode(content);
}

struct Tail {
    agent_protocol::Maybe<agent_protocol::LogTail> log_tail;
};
BOOST_DESCRIBE_STRUCT(Tail, (), (log_tail))

// Events are kept, so that a machine must not say more with each than there is to say.
void check_size(const agent_protocol::OpenObject& evidence) {
    constexpr std::size_t limit = agent_protocol::evidence_bytes_max;
    if (evidence.text.size() <= limit) return;
    const auto tail = wire::decode_known<Tail>(evidence.text, "body.evidence");
    const auto text = wire::canonical(evidence.text);
    if (!text || text->size() > limit + wire::encode(tail).size())
        throw Problem(
            Code::invalid_input,
            fmt::format("body.evidence: must have at most {} bytes, log_tail aside", limit));
}

}  // namespace

agent_protocol::Orders HostAgentMessages::wait(api::Call& call, const WaitForCommands& request,
                                               db::Database& database) const {
    const MachineId id = machine_of(call.caller);
    agent_protocol::Orders orders;
    orders.server_time = call.now;
    orders.commands = commands_.deliver(database, id, call.now);
    if (orders.commands.empty() && request.wait_s && request.wait_s->value > 0)
        call.wait_for(commands_key(id), std::chrono::seconds(request.wait_s->value));
    database.read([&](db::Transaction& tx) {
        const auto machine = find(tx, id);
        if (!machine) throw api::InvalidCredential("the machine has left");
        orders.fence.value = machine->fence;
        // For the host's own eyes, once a test has found it out.
        orders.reach_why = find_reach_why(tx, id);
        if (orders.reach_why) orders.reach = machine->reach;
        orders.leases = jobs_.leases({tx, call.random, call.now}, *machine);
    });
    return orders;
}

AckTaken HostAgentMessages::acknowledge(api::Call& call, CommandId id,
                                        const agent_protocol::Ack& ack) const {
    Machine machine = held(call);
    const auto command = find_command(call.tx(), machine.machine_id, id);
    if (!command) throw Problem(Code::not_found, "there is no such command for this machine");
    const CommandState state = state_after(ack.result);
    const std::string content = content_of(ack);
    if (command->result == content) return {id, command->state};
    const auto kind = parse_enum<CommandKind>(command->kind);
    if (!kind)
        throw Problem(Code::unknown_command_kind,
                      fmt::format("the command is of the kind {}, which this server does not know",
                                  command->kind));
    require_fence(machine, ack.fence);
    if (!command->result && command->expires_at <= call.now)
        throw Problem(Code::command_expired, "the command expired before it was acknowledged");
    // A test ends with its result, which may arrive before the acknowledgement of QUALIFY.
    if (*kind == CommandKind::qualify && command->state == CommandState::completed &&
        state != CommandState::rejected)
        return {id, command->state};
    if (command->state != CommandState::queued && command->state != CommandState::accepted)
        throw Problem(Code::conflict,
                      fmt::format("the command is {} already", enum_name(command->state)));
    if (state == command->state) return {id, state};  // accepted again, with another detail
    const bool rose = adopt_fence(machine, ack.fence);
    if (rose) save(call.context(), machine);
    if (*kind == CommandKind::rotate_key && state == CommandState::completed)
        change_key(call.context(), machine, *command, ack);
    if (*kind == CommandKind::server_key && state == CommandState::completed)
        pin_key(call.tx(), machine.machine_id,
                wire::decode<agent_protocol::ServerKeyPayload>(commands_.payload_of(*command),
                                                               "payload")
                    .key_id);
    if (*kind == CommandKind::qualify && state == CommandState::rejected)
        reject_test(call.context(), machine,
                    wire::decode<QualifyPayload>(commands_.payload_of(*command), "payload").run_id,
                    ack.code ? std::optional(ack.code->value) : std::nullopt);
    if (command->job_id)
        jobs_.acknowledge(call.context(), machine, {id, *kind, *command->job_id, ack},
                          signed_message(call.request, machine));
    set_command_state(call.tx(), id, state, content);
    return {id, state};
}

// The new key proves itself over the command's nonce; the old one signed the request around it.
void HostAgentMessages::change_key(const db::Context& context, Machine& machine,
                                   const CommandRow& command,
                                   const agent_protocol::Ack& ack) const {
    const auto detail = wire::decode<agent_protocol::RotateKeyDetail>(
        ack.detail ? ack.detail->text : "{}", "body.detail");
    const auto payload =
        wire::decode<agent_protocol::RotateKeyPayload>(commands_.payload_of(command), "payload");
    const auto key = agent_protocol::parse_key(detail.public_key.value);
    if (!key)
        throw Problem(Code::invalid_input,
                      "body.detail.public_key: must be the 32 bytes of an Ed25519 key in base64");
    const auto signature = from_base64(detail.signature.value);
    if (!signature || !key->verify(payload.nonce, *signature))
        throw Problem(Code::authorization_invalid,
                      "body.detail.signature: is not the new key's over the command's nonce");
    machine.public_key = detail.public_key.value;
    save(context, machine);
}

agent_protocol::ManifestTaken HostAgentMessages::take_manifest(
    api::Call& call, const agent_protocol::NewManifest& request) const {
    Machine machine = held(call);
    check_manifest(request.manifest, request.manifest_hash.value, machine.tier,
                   call.settings<Settings>());
    const bool rose = adopt_fence(machine, request.fence);
    const bool same_agent = machine.agent_version == request.agent_version.value &&
                            machine.boot_id == request.boot_id.value;
    machine.agent_version = request.agent_version.value;
    machine.boot_id = request.boot_id.value;
    if (machine.manifest_hash != request.manifest_hash.value) {
        describe_by(request.manifest, machine);
        save_manifest(call.tx(), machine.machine_id,
                      agent_protocol::canonical_manifest(request.manifest),
                      gpu_uuids(request.manifest));
        apply(call.context(), machine, MachineEvent::manifest_changed);
    } else if (rose || !same_agent) {
        save(call.context(), machine);
    }
    return {machine.machine_id, {machine.fence}, machine.manifest_hash};
}

std::function<EventFacts()> HostAgentMessages::prepare_event(api::Call& call, JobId job,
                                                             const agent_protocol::JobEvent& event,
                                                             db::Database& database) const {
    const auto machine = find(call.tx(), machine_of(call.caller));
    if (!machine || event.fence.value < machine->fence) return [] { return EventFacts{}; };
    const auto ask = jobs_.prepare(call.tx(), *machine, job, event);
    RefusedEvent refused{machine->machine_id, job, event, signed_message(call.request, *machine),
                         ""};
    return [this, ask, refused, &database, &random = call.random, now = call.now]() mutable {
        EventFacts facts = ask();
        if (facts.fault) {
            refused.why = *facts.fault;
            database.write([&](db::Transaction& tx) {
                jobs_.note_refused({tx, random, now}, refused);
            });
        }
        return facts;
    };
}

agent_protocol::JobEventTaken HostAgentMessages::take_event(api::Call& call, JobId job,
                                                            const agent_protocol::JobEvent& event,
                                                            const EventFacts& facts) const {
    check_size(event.evidence);
    Machine machine = held(call);
    require_fence(machine, event.fence);
    if (adopt_fence(machine, event.fence)) save(call.context(), machine);
    const JobEventOutcome outcome = jobs_.event(call.context(), machine, job, event, facts,
                                                signed_message(call.request, machine));
    return {job, outcome.state, {machine.fence}, outcome.lease};
}

HealthEventTaken HostAgentMessages::take_health(api::Call& call,
                                                const agent_protocol::HealthEvent& event) const {
    check_size(event.evidence);
    const auto told =
        wire::decode_known<agent_protocol::HealthEvidence>(event.evidence.text, "body.evidence");
    Machine machine = held(call);
    require_fence(machine, event.fence);
    const bool rose = adopt_fence(machine, event.fence);
    const auto address = agent_protocol::given(told.pci_address);
    const bool had_all = !machine.has_lost_gpu();
    const bool is_news =
        note_gpu(machine, event.kind,
                 address ? std::optional(address->value) : std::optional<std::string>());
    if (rose || is_news) save(call.context(), machine);
    if (had_all != !machine.has_lost_gpu()) jobs_.gpus_turned(call.context(), machine);
    // The id is a hash of the content, so that an event that is sent again adds no row.
    const std::string kind(enum_name(event.kind));
    const std::string detail =
        wire::canonical(fmt::format(R"({{"at":"{}","evidence":{}}})", to_rfc3339(event.at),
                                    event.evidence.text))
            .value_or("{}");
    const Bytes hash = crypto::HashInput(detail.size() + 64)
                           .id(machine.machine_id)
                           .text(kind)
                           .text(detail)
                           .sha256();
    const MachineEventId id{*uuid_from_bytes(std::string_view(hash).substr(0, 16))};
    // An agent that starts says of every card that it is there.
    if ((is_news || event.kind != agent_protocol::HealthKind::gpu_back) &&
        keep_health_event(call.tx(), {id, machine.machine_id, kind, call.now, detail}))
        tell_health(call.context(), machine, event.kind, told);
    return {id.uuid, {machine.fence}};
}

void HostAgentMessages::leave(api::Call& call) const {
    Machine machine = held(call);
    if (machine.job_id && machine.state != MachineState::QUARANTINED)
        throw Problem(Code::conflict, "the machine's last job is not over and cleaned yet");
    apply(call.context(), machine, MachineEvent::leave);
    cancel_commands(call.tx(), machine.machine_id);
}

KeyRotation HostAgentMessages::rotate_key(api::Call& call, MachineId id) const {
    const Machine machine =
        call.caller.admin ? hold_any(call.tx(), id) : hold_own(call.tx(), id, call.caller.account);
    constexpr std::size_t nonce_bytes = 32;
    const agent_protocol::RotateKeyPayload payload{to_base64url(call.random.bytes(nonce_bytes))};
    const CommandId command = commands_.queue(call.context(), machine,
                                              {.kind = CommandKind::rotate_key,
                                               .payload = wire::encode(payload),
                                               .lasts = rotation_lasts});
    audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                   .action = "rotate_machine_key",
                                   .target = {"machine", to_string(id)},
                                   .request = call.request_id});
    return {id, command};
}

void require_test(db::Transaction& tx, MachineId id) {
    const auto machine = find(tx, id);
    if (!machine) throw api::InvalidCredential("the machine has left");
    if (machine->qualify_state != QualifyState::testing || !machine->qualify_run_id)
        throw Problem(Code::conflict, "no test of this machine is in progress");
}

}  // namespace berth::machines
