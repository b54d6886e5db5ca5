#include "host_agent/program/agent_keys.hpp"

#include "base/log.hpp"

namespace berth::host_agent {

agent_protocol::CheckedCommand AgentKeys::check(const std::string& command, Time now) {
    const std::lock_guard lock(mutex_);
    auto checked =
        agent_protocol::check_command(command, *identity_.machine_id, pinned_of(identity_), now);
    const auto next = checked.command_id ? std::nullopt : next_pinned_of(identity_);
    if (!next) return checked;
    checked = agent_protocol::check_command(command, *identity_.machine_id, *next, now);
    if (!checked.command_id) return checked;
    // The server signs with the new key: the old one is over.
    identity_.server_key_id = std::move(*identity_.next_server_key_id);
    identity_.server_public_key = std::move(*identity_.next_server_public_key);
    identity_.next_server_key_id.reset();
    identity_.next_server_public_key.reset();
    keep();
    return checked;
}

// On disk before the server may go over to it. Until it does, and when the answer is lost, it signs
// with the old one.
void AgentKeys::pin_next(const std::string& key_id, const std::string& public_key) {
    const std::lock_guard lock(mutex_);
    Identity known = identity_;
    known.next_server_key_id.reset();
    known.next_server_public_key.reset();
    if (key_id != known.server_key_id) {
        known.next_server_key_id = key_id;
        known.next_server_public_key = public_key;
    }
    state_.save(known);
    identity_ = std::move(known);
}

std::string AgentKeys::seed() const {
    const std::lock_guard lock(mutex_);
    return identity_.seed;
}

AgentKeys::Rotation AgentKeys::rotation() {
    const std::lock_guard lock(mutex_);
    if (!identity_.next_seed) {
        Identity made = identity_;
        made.next_seed = to_hex(SystemRandom().bytes(crypto::Secret::size));
        state_.save(made);  // before the server may know it
        identity_ = std::move(made);
    }
    return {identity_.seed, *identity_.next_seed};
}

// The answer to ROTATE_KEY was lost: the server may know the new key alone. Or it refuses for
// another reason, so that neither is thrown away.
void AgentKeys::try_other(const std::string& refused) {
    const std::lock_guard lock(mutex_);
    // It may have been changed meanwhile.
    if (identity_.seed != refused || !swap_seeds(identity_)) return;
    link_.use_key(identity_.seed);
    keep();
}

void AgentKeys::drop_old(const std::string& answered) {
    const std::lock_guard lock(mutex_);
    if (!identity_.old_seed || identity_.seed != answered) return;
    identity_.old_seed.reset();
    keep();
}

// For what the next agent finds out by itself should the disk be full.
void AgentKeys::keep() {
    try {
        state_.save(identity_);
    } catch (const StateLost& error) {
        log(Level::error, "state_not_written", {{"why", error.what()}});
    }
}

}  // namespace berth::host_agent
