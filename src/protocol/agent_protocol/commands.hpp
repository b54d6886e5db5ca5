// Commands are signed by the server, and an agent carries out none that is not: whoever stands
// between the two can hold a command back and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_protocol/types.hpp"
#include "base/problem.hpp"
#include "crypto/ed25519.hpp"

namespace berth::agent_protocol {

// ---- The server's side

class CommandKey {
public:
    explicit CommandKey(crypto::Ed25519Key key);

    const crypto::Ed25519PublicKey& public_key() const { return public_key_; }
    const std::string& id() const { return id_; }
    const crypto::Ed25519Key& key() const { return key_; }  // tickets are signed by it too
    // Gives the command its key_id and signature.
    void sign(Command& command) const;

private:
    crypto::Ed25519Key key_;
    crypto::Ed25519PublicKey public_key_;
    std::string id_;
};

// ---- The agent's side

// An answer as an agent reads it. Servers of later versions may say more than we know, so unknown
// members are passed over, and every command stays as its text until its signature was checked.
struct AgentOrders {
    Time server_time;
    std::int64_t fence = 0;
    std::vector<std::string> commands;
    std::vector<Lease> leases;
    std::vector<std::string> warnings;
    std::optional<Reach> reach = {};  // how the server reaches this machine, and why so
    std::optional<std::string> reach_why = {};
};
std::optional<AgentOrders> read_orders(std::string_view json);
// The answer as its struct, members that are not known left out; empty when one is missing.
std::optional<Enrolled> read_enrolled(std::string_view json);

struct PinnedKey {
    std::string id;
    crypto::Ed25519PublicKey key;
};

// What an agent learns from the text of a command.
struct CheckedCommand {
    // Why it must not be carried out; with no command_id not even that may be acknowledged.
    std::optional<Code> refusal;
    std::optional<CommandId> command_id;
    std::optional<Command> command;  // when nothing was wrong
};
// STALE_FENCE and the other counters are for Counters to judge. A command that is not signed by the
// pinned key, or not for this machine, has no id: it is as if it had never come.
CheckedCommand check_command(std::string_view json, MachineId machine, const PinnedKey& pinned,
                             Time now);

}  // namespace berth::agent_protocol
