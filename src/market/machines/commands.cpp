#include "machines/commands.hpp"

#include <algorithm>

#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"
#include "machines/store.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

constexpr std::int64_t resealed_at_once = 200;
constexpr Duration next_key_lasts = std::chrono::hours(24);

constexpr std::string_view topic_name = "commands";

bool has_new(const std::vector<CommandRow>& rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [](const CommandRow& row) { return !row.delivered_at; });
}

std::string seal_context(CommandId id) { return "machine_commands:" + to_string(id); }

}  // namespace

WakeKey commands_key(MachineId machine) { return {topic_name, to_string(machine)}; }

api::Topic commands_topic(const Clock& clock) {
    return {std::string(topic_name), [&clock](db::Transaction& tx) {
                std::vector<std::string> names;
                for (const MachineId& machine : machines_with_commands(tx, clock.now()))
                    names.push_back(to_string(machine));
                return names;
            }};
}

CommandId Commands::queue(const db::Context& context, const Machine& machine,
                          const NewCommand& command) const {
    const auto id = CommandId::make(context.now, context.random);
    const std::string place = seal_context(id);
    context.tx.touch(machine.machine_id.uuid);
    add_command(context.tx, {.command_id = id,
                             .machine_id = machine.machine_id,
                             .kind = std::string(enum_name(command.kind)),
                             .job_id = command.job_id,
                             .fence = machine.fence,
                             .lease_seq = command.lease_seq,
                             .payload = sealer_.seal({command.payload, place}, context.random),
                             .issued_at = context.now,
                             .expires_at = context.now + command.lasts,
                             .state = CommandState::queued,
                             .result = {},
                             .delivered_at = {}});
    context.tx.wake_after_commit(commands_key(machine.machine_id));
    return id;
}

void Commands::repeat(const db::Context& context, const Machine& machine,
                      const Repeated& wanted) const {
    const auto before =
        find_newest_command(context.tx, machine.machine_id, wanted.kind, wanted.job_id);
    if (!before) return;
    queue(context, machine,
          {.kind = wanted.kind,
           .payload = payload_of(*before),
           .lasts = wanted.lasts,
           .job_id = wanted.job_id,
           .lease_seq = before->lease_seq});
}

std::vector<agent_protocol::Command> Commands::waiting(db::Transaction& tx, MachineId machine,
                                                       Time now) const {
    return with_signatures(tx, machine, find_waiting_commands(tx, machine, now, sent_at_once_max));
}

std::vector<agent_protocol::Command> Commands::deliver(db::Transaction& tx, MachineId machine,
                                                       Time now) const {
    const auto rows = find_waiting_commands(tx, machine, now, sent_at_once_max);
    if (has_new(rows)) note_delivered(tx, machine, now);
    return with_signatures(tx, machine, rows);
}

std::vector<agent_protocol::Command> Commands::deliver(db::Database& database, MachineId machine,
                                                       Time now) const {
    bool is_new = false;
    auto commands = database.read([&](db::Transaction& tx) {
        const auto rows = find_waiting_commands(tx, machine, now, sent_at_once_max);
        is_new = has_new(rows);
        return is_new ? std::vector<agent_protocol::Command>() : with_signatures(tx, machine, rows);
    });
    if (!is_new) return commands;
    try {
        return database.write([&](db::Transaction& tx) {
            hold(tx, machine);  // whoever takes a command back asks whether it was delivered
            return deliver(tx, machine, now);
        });
    } catch (const db::OutcomeUnknown&) {
        throw Problem(Code::unavailable, "the commands wait on; ask for them again");
    }
}

std::vector<agent_protocol::Command> Commands::with_signatures(
    db::Transaction& tx, MachineId machine, const std::vector<CommandRow>& rows) const {
    std::vector<agent_protocol::Command> commands;
    if (rows.empty()) return commands;
    const agent_protocol::CommandKey& key = pinned_by(tx, machine);
    for (const CommandRow& row : rows) {
        const auto kind = parse_enum<CommandKind>(row.kind);
        if (!kind) continue;
        agent_protocol::Command command;
        command.command_id = row.command_id;
        command.kind = *kind;
        command.machine_id = row.machine_id;
        command.fence.value = row.fence;
        command.job_id = row.job_id;
        if (row.lease_seq) command.lease_seq = wire::Decimal{*row.lease_seq};
        command.issued_at = row.issued_at;
        command.expires_at = row.expires_at;
        command.payload.text = payload_of(row);
        key.sign(command);
        commands.push_back(std::move(command));
    }
    return commands;
}

const agent_protocol::CommandKey& Commands::pin_newest(db::Transaction& tx,
                                                       MachineId machine) const {
    if (next_ == nullptr) return key_;
    pin_key(tx, machine, next_->id());
    return *next_;
}

const agent_protocol::CommandKey& Commands::pinned_by(db::Transaction& tx,
                                                      MachineId machine) const {
    if (next_ == nullptr) return key_;
    return find_pinned_key(tx, machine) == next_->id() ? *next_ : key_;
}

std::int64_t Commands::offer_next_key(const db::Context& context, std::int64_t machines_max) const {
    if (next_ == nullptr) return 0;
    const std::string payload = wire::encode(agent_protocol::ServerKeyPayload{
        next_->id(), agent_protocol::key_text(next_->public_key())});
    std::int64_t told = 0;
    for (const MachineId& id :
         find_without_key(context.tx, next_->id(), context.now, machines_max)) {
        const auto machine = find(context.tx, id);
        if (!machine) continue;
        queue(context, *machine,
              {.kind = CommandKind::server_key, .payload = payload, .lasts = next_key_lasts});
        ++told;
    }
    return told;
}

std::string Commands::payload_of(const CommandRow& row) const {
    const std::string place = seal_context(row.command_id);
    auto opened = sealer_.open({row.payload, place});
    require(opened.has_value(), "what we sealed opens");
    return std::move(*opened);
}

void reseal(db::Database& database, crypto::Resealing& resealing) {
    for (std::optional<CommandId> after = CommandId{}; after;)
        after = database.write([&](db::Transaction& tx) {
            std::optional<CommandId> last;
            for (const SealedCommand& row : find_sealed_commands(tx, *after, resealed_at_once)) {
                const std::string context = seal_context(row.command_id);
                if (const auto renewed = resealing.renew({row.payload, context}))
                    set_sealed_payload(tx, row.command_id, *renewed);
                last = row.command_id;
            }
            return last;
        });
}

}  // namespace berth::machines
