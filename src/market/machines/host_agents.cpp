#include "machines/host_agents.hpp"

#include "base/log.hpp"

namespace berth::machines {

HostAgents::HostAgents(Parts parts)
    : key_(crypto::Ed25519Key(std::move(parts.command_key))),
      next_key_(parts.next_key ? std::optional(agent_protocol::CommandKey(
                                     crypto::Ed25519Key(std::move(*parts.next_key))))
                               : std::nullopt),
      credentials_(cache_),
      commands_(parts.sealer, key_, next_key_ ? &*next_key_ : nullptr),
      enrollments_(parts.countries, commands_, std::move(parts.server)),
      heartbeats_(cache_, commands_, parts.jobs),
      messages_(commands_, parts.jobs),
      jobs_(parts.jobs) {}

HostAgents::~HostAgents() { stop(); }

void HostAgents::start(const Clock& clock) {
    require(database_ != nullptr, "agents are followed in a database");
    if (thread_.joinable()) return;
    heartbeats_.set_batching(true);
    thread_ = std::thread([this, &clock] { loop(clock); });
}

void HostAgents::turn(Time now) {
    const std::lock_guard one(turning_);
    try {
        // Time in which we refused what machines sent, for reasons of ours, is an outage of ours.
        const std::uint64_t refused = refused_ ? refused_() : 0;
        if (std::exchange(refused_before_, refused) == refused)
            jobs_.note_listening(*database_, now);
        cache_.look(*database_, now);
        heartbeats_.write_health(*database_);
    } catch (const std::exception& error) {
        if (const std::int64_t times = failing_.note())
            log(Level::warn, "machines_not_followed", {{"why", error.what()}, {"times", times}});
    }
}

void HostAgents::loop(const Clock& clock) {
    std::unique_lock lock(mutex_);
    do {
        lock.unlock();
        turn(clock.now());
        lock.lock();
    } while (!wake_.wait_for(lock, MachineCache::look_every, [this] { return stopping_; }));
}

void HostAgents::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
    heartbeats_.set_batching(false);
    try {
        heartbeats_.write_health(*database_);
    } catch (const std::exception& error) {
        log(Level::warn, "last_heartbeats_lost", {{"why", error.what()}});
    }
}

}  // namespace berth::machines
