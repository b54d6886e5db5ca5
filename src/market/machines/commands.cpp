#include "machines/commands.hpp"

#include <algorithm>

#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

// As long as anybody may ask how a job came to its end.
constexpr Duration commands_kept = std::chrono::hours(24 * 30);

constexpr std::string_view add_command_sql =
    "INSERT INTO machine_commands (command_id, machine_id, kind, job_id, fence, lease_seq, "
    "payload, issued_at, expires_at, state) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued')";
const db::Query<CommandRow> waiting_sql(
    "SELECT {} FROM machine_commands WHERE machine_id = $1 AND state = 'queued' "
    "AND expires_at > $2 ORDER BY command_id LIMIT $3");
const db::Query<CommandRow> find_command_sql(
    "SELECT {} FROM machine_commands WHERE command_id = $1 AND machine_id = $2");
constexpr std::string_view has_sql =
    "SELECT 1 FROM machine_commands WHERE job_id = $1 AND machine_id = $2 AND kind = $3 "
    "AND state IN ('queued', 'accepted', 'completed') AND expires_at > $4 LIMIT 1";
constexpr std::string_view deliver_sql =
    "UPDATE machine_commands SET delivered_at = $2 WHERE machine_id = $1 AND state = 'queued' "
    "AND expires_at > $2 AND delivered_at IS NULL";
constexpr std::string_view is_delivered_sql =
    "SELECT 1 FROM machine_commands WHERE job_id = $1 AND machine_id = $2 AND kind = $3 "
    "AND delivered_at IS NOT NULL LIMIT 1";
constexpr std::string_view set_state_sql =
    "UPDATE machine_commands SET state = $2, result = $3 WHERE command_id = $1";
constexpr std::string_view cancel_sql =
    "UPDATE machine_commands SET state = 'cancelled' WHERE machine_id = $1 AND state = 'queued'";
constexpr std::string_view cancel_of_job_sql =
    "UPDATE machine_commands SET state = 'cancelled' WHERE machine_id = $1 AND state = 'queued' "
    "AND job_id = $2";
constexpr std::string_view machines_sql =
    "SELECT DISTINCT machine_id FROM machine_commands WHERE state = 'queued' AND expires_at > $1 "
    "ORDER BY machine_id LIMIT $2";
constexpr std::string_view expire_sql =
    "UPDATE machine_commands SET state = 'expired' WHERE command_id IN ("
    "  SELECT command_id FROM machine_commands WHERE state = 'queued' AND expires_at <= $1 "
    "  ORDER BY command_id LIMIT $2)";
constexpr std::string_view delete_sql =
    "DELETE FROM machine_commands WHERE command_id IN ("
    "  SELECT command_id FROM machine_commands WHERE expires_at <= $1 "
    "  ORDER BY command_id LIMIT $2)";

struct SealedCommand {
    CommandId command_id;
    Bytes payload;
};
BOOST_DESCRIBE_STRUCT(SealedCommand, (), (command_id, payload))
constexpr std::int64_t resealed_at_once = 200;
const db::Query<SealedCommand> sealed_sql(
    "SELECT {} FROM machine_commands WHERE command_id > $1 ORDER BY command_id LIMIT $2");
constexpr std::string_view set_payload_sql =
    "UPDATE machine_commands SET payload = $2 WHERE command_id = $1";

constexpr std::string_view pin_sql =
    "INSERT INTO machine_pins (machine_id, key_id) VALUES ($1, $2) "
    "ON CONFLICT (machine_id) DO UPDATE SET key_id = excluded.key_id";
constexpr std::string_view pinned_sql = "SELECT key_id FROM machine_pins WHERE machine_id = $1";
constexpr std::string_view to_tell_sql =
    "SELECT m.machine_id FROM machines AS m "
    "LEFT JOIN machine_pins AS p ON p.machine_id = m.machine_id "
    "WHERE m.retired_at IS NULL AND (p.key_id IS NULL OR p.key_id <> $1) "
    "AND NOT EXISTS (SELECT 1 FROM machine_commands AS c WHERE c.machine_id = m.machine_id "
    "  AND c.kind = 'SERVER_KEY' AND c.state = 'queued' AND c.expires_at > $2) "
    "ORDER BY m.machine_id LIMIT $3";
constexpr Duration next_key_lasts = std::chrono::hours(24);

constexpr std::string_view topic_name = "commands";
constexpr std::int64_t machines_told_max = 10'000;

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
    const Bytes sealed = sealer_.seal({command.payload, place}, context.random);
    context.tx.touch(machine.machine_id.uuid);
    context.tx.run(add_command_sql, id, machine.machine_id, enum_name(command.kind), command.job_id,
                   machine.fence, command.lease_seq, db::Blob{sealed}, context.now,
                   context.now + command.lasts);
    return id;
}

std::vector<agent_protocol::Command> Commands::waiting(db::Transaction& tx, MachineId machine,
                                                       Time now) const {
    return with_signatures(tx, machine, tx.fetch(waiting_sql, machine, now, sent_at_once_max));
}

std::vector<agent_protocol::Command> Commands::deliver(db::Transaction& tx, MachineId machine,
                                                       Time now) const {
    const auto rows = tx.fetch(waiting_sql, machine, now, sent_at_once_max);
    if (has_new(rows)) tx.run(deliver_sql, machine, now);
    return with_signatures(tx, machine, rows);
}

std::vector<agent_protocol::Command> Commands::deliver(db::Database& database, MachineId machine,
                                                       Time now) const {
    bool is_new = false;
    auto commands = database.read([&](db::Transaction& tx) {
        const auto rows = tx.fetch(waiting_sql, machine, now, sent_at_once_max);
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
    return tx.fetch_value<std::string>(pinned_sql, machine) == next_->id() ? *next_ : key_;
}

std::int64_t Commands::offer_next_key(const db::Context& context, std::int64_t machines_max) const {
    if (next_ == nullptr) return 0;
    const std::string payload = wire::encode(agent_protocol::ServerKeyPayload{
        next_->id(), agent_protocol::key_text(next_->public_key())});
    std::int64_t told = 0;
    for (const MachineId& id :
         context.tx.fetch_values<MachineId>(to_tell_sql, next_->id(), context.now, machines_max)) {
        const auto machine = find(context.tx, id);
        if (!machine) continue;
        queue(context, *machine,
              {.kind = CommandKind::server_key, .payload = payload, .lasts = next_key_lasts});
        ++told;
    }
    return told;
}

void pin_key(db::Transaction& tx, MachineId machine, std::string_view key_id) {
    tx.run(pin_sql, machine, key_id);
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
            for (const SealedCommand& row : tx.fetch(sealed_sql, *after, resealed_at_once)) {
                const std::string context = seal_context(row.command_id);
                if (const auto renewed = resealing.renew({row.payload, context}))
                    tx.run(set_payload_sql, row.command_id, db::Blob{*renewed});
                last = row.command_id;
            }
            return last;
        });
}

std::optional<CommandRow> find_command(db::Transaction& tx, MachineId machine, CommandId id) {
    return tx.fetch_one(find_command_sql, id, machine);
}

bool has_command(db::Transaction& tx, MachineId machine, CommandKind kind, JobId job, Time now) {
    return !tx.run(has_sql, job, machine, enum_name(kind), now).empty();
}

bool is_delivered(db::Transaction& tx, MachineId machine, CommandKind kind, JobId job) {
    return !tx.run(is_delivered_sql, job, machine, enum_name(kind)).empty();
}

void set_command_state(db::Transaction& tx, CommandId id, CommandState state,
                       const std::optional<std::string>& result) {
    tx.run(set_state_sql, id, state, result);
}

void cancel_commands(db::Transaction& tx, MachineId machine) { tx.run(cancel_sql, machine); }

void cancel_commands(db::Transaction& tx, MachineId machine, JobId job) {
    tx.run(cancel_of_job_sql, machine, job);
}

std::vector<MachineId> machines_with_commands(db::Transaction& tx, Time now) {
    return tx.fetch_values<MachineId>(machines_sql, now, machines_told_max);
}

std::int64_t sweep_commands(db::Transaction& tx, Time now, std::int64_t rows_max) {
    const auto expired = tx.run(expire_sql, now, rows_max).affected;
    const auto deleted = tx.run(delete_sql, now - commands_kept, rows_max).affected;
    return expired + deleted;
}

}  // namespace berth::machines
