// Commands to agents, kept as rows until they were acknowledged or have expired. Whoever queues one
// does it in the transaction of what it belongs to:
//
//     commands.queue(call.context(), machine, {.kind = CommandKind::stop, …});
//
// An agent that waits for it at this process is woken after the commit; one that waits at another
// process hears of it within a second all the same.
#pragma once

#include <vector>

#include "agent_protocol/commands.hpp"
#include "api/notifier.hpp"
#include "base/wake.hpp"
#include "crypto/seal.hpp"
#include "machines/machine.hpp"

namespace berth::machines {

using agent_protocol::CommandKind;
using agent_protocol::CommandState;

WakeKey commands_key(MachineId machine);
// For requests that wait for commands.
api::Topic commands_topic(const Clock& clock);

// The states of a command that waits for the agent or was taken up by it.
inline constexpr std::array standing_command_states{CommandState::queued, CommandState::accepted,
                                                    CommandState::completed};

struct NewCommand {
    CommandKind kind = CommandKind::qualify;
    std::string payload = "{}";                // a JSON object; it is sealed before it is stored
    Duration lasts = std::chrono::minutes(2);  // then it has expired
    std::optional<JobId> job_id = {};
    std::optional<std::int64_t> lease_seq = {};
};

struct CommandRow {
    CommandId command_id;
    MachineId machine_id;
    std::string kind;  // a later version of the program may have queued one that we do not know
    std::optional<JobId> job_id;
    std::int64_t fence = 0;
    std::optional<std::int64_t> lease_seq;
    Bytes payload;  // sealed
    Time issued_at;
    Time expires_at;
    CommandState state = CommandState::queued;
    std::optional<std::string> result;  // the acknowledgement, as JSON
    std::optional<Time> delivered_at;   // an answer to the agent had it
};
BOOST_DESCRIBE_STRUCT(CommandRow, (),
                      (command_id, machine_id, kind, job_id, fence, lease_seq, payload, issued_at,
                       expires_at, state, result, delivered_at))

class Commands {
public:
    static constexpr std::int64_t sent_at_once_max = 64;

    // `next` is to take the place of `key`: each agent is told of it by a command that `key`
    // signed; once it has acknowledged that it pinned `next`, it gets commands signed by `next`
    // only.
    Commands(const crypto::Sealer& sealer, const agent_protocol::CommandKey& key,
             const agent_protocol::CommandKey* next = nullptr)
        : sealer_(sealer), key_(key), next_(next) {}

    // The command carries the fence that the machine has now.
    CommandId queue(const db::Context& context, const Machine& machine,
                    const NewCommand& command) const;
    // Queues the newest command of a kind about a job once more, with what it said; nothing where
    // there is none.
    struct Repeated {
        CommandKind kind = CommandKind::start;
        JobId job_id;
        Duration lasts;
    };
    void repeat(const db::Context& context, const Machine& machine, const Repeated& wanted) const;
    // The commands that wait for the machine, oldest first, signed. Kinds that this version of the
    // program does not know are passed over.
    std::vector<agent_protocol::Command> waiting(db::Transaction& tx, MachineId machine,
                                                 Time now) const;
    // The same commands, for the answer to the agent: from then on they count as delivered. The
    // caller holds the machine.
    std::vector<agent_protocol::Command> deliver(db::Transaction& tx, MachineId machine,
                                                 Time now) const;
    // The same for a caller without a transaction. Mostly nothing waits, so it writes only when a
    // command is delivered for the first time.
    std::vector<agent_protocol::Command> deliver(db::Database& database, MachineId machine,
                                                 Time now) const;
    std::string payload_of(const CommandRow& row) const;

    // The key that a machine which enrolls now is to pin; the pin is written down.
    const agent_protocol::CommandKey& pin_newest(db::Transaction& tx, MachineId machine) const;
    // The key that a machine has pinned.
    const agent_protocol::CommandKey& pinned_by(db::Transaction& tx, MachineId machine) const;
    // Queues SERVER_KEY for machines that have not pinned the next key. Returns how many.
    std::int64_t offer_next_key(const db::Context& context, std::int64_t machines_max) const;

private:
    std::vector<agent_protocol::Command> with_signatures(db::Transaction& tx, MachineId machine,
                                                         const std::vector<CommandRow>& rows) const;

    const crypto::Sealer& sealer_;
    const agent_protocol::CommandKey& key_;
    const agent_protocol::CommandKey* next_;
};

// Seals the payloads of all commands anew, with the present key.
void reseal(db::Database& database, crypto::Resealing& resealing);

void pin_key(db::Transaction& tx, MachineId machine, std::string_view key_id);

// A command of this machine; none when it is another's.
std::optional<CommandRow> find_command(db::Transaction& tx, MachineId machine, CommandId id);
// Whether an agent was answered with the command of this kind about this job.
bool is_delivered(db::Transaction& tx, MachineId machine, CommandKind kind, JobId job);
// Whether a command of this kind about this job waits or was taken up, and has not expired.
bool has_command(db::Transaction& tx, MachineId machine, CommandKind kind, JobId job, Time now);
void set_command_state(db::Transaction& tx, CommandId id, CommandState state,
                       const std::optional<std::string>& result);
// Takes back all commands that still wait for a machine, when the machine is gone.
void cancel_commands(db::Transaction& tx, MachineId machine);
// Takes back the waiting commands about one job.
void cancel_commands(db::Transaction& tx, MachineId machine, JobId job);

// Machines that have a command waiting, whoever queued it; at most ten thousand.
std::vector<MachineId> machines_with_commands(db::Transaction& tx, Time now);

// For the worker: marks commands that have expired, and deletes those that expired a month ago.
// Returns how many rows were changed.
std::int64_t sweep_commands(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::machines
