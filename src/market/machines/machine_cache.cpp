#include "machines/machine_cache.hpp"

#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "machines/store.hpp"

namespace berth::machines {
namespace {

CachedMachine cached_of(MachineFacts facts) {
    const auto key = agent_protocol::parse_key(facts.public_key);
    require(key.has_value(), "a machine's key was checked when it was stored");
    return {std::move(facts), *key};
}

}  // namespace

std::optional<CachedMachine> read_for_cache(db::Transaction& tx, MachineId id) {
    auto facts = find_facts(tx, id);
    if (!facts) return std::nullopt;
    return cached_of(std::move(*facts));
}

bool MachineCache::is_current() const {
    return SteadyClock::now().time_since_epoch().count() < good_until_.load();
}

std::shared_ptr<const CachedMachine> MachineCache::find(MachineId id) const {
    if (!is_current()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = machines_.find(id);
    if (found == machines_.end() || database_->is_touched(id.uuid)) return nullptr;
    const bool is_old = SteadyClock::now() - found->second.read_at > read_again_after;
    return is_old ? nullptr : found->second.machine;
}

void MachineCache::put(CachedMachine machine) {
    const MachineId id = machine.facts.machine_id;
    auto fresh = std::make_shared<const CachedMachine>(std::move(machine));
    const std::lock_guard lock(mutex_);
    if (machines_.size() >= machines_max && !machines_.contains(id)) machines_.clear();
    Entry& entry = machines_[id];
    if (entry.machine == nullptr || entry.machine->facts.version <= fresh->facts.version)
        entry = {std::move(fresh), SteadyClock::now()};
}

bool MachineCache::has_commands(MachineId id) const {
    const std::lock_guard lock(mutex_);
    return commanded_.contains(id);
}

std::size_t MachineCache::size() const {
    const std::lock_guard lock(mutex_);
    return machines_.size();
}

void MachineCache::look(db::Database& database, Time now) {
    const auto began = SteadyClock::now();
    const Time since = looked_at_.value_or(now) - overlap;
    std::vector<MachineFacts> changed;
    std::vector<MachineId> commanded;
    database.read([&](db::Transaction& tx) {
        changed = find_changed_facts(tx, since, changes_max);
        commanded = machines_with_commands(tx, now);
    });
    const std::lock_guard lock(mutex_);
    database_ = &database;
    commanded_ = {commanded.begin(), commanded.end()};
    if (static_cast<std::int64_t>(changed.size()) == changes_max) machines_.clear();
    for (MachineFacts& facts : changed) {
        const auto found = machines_.find(facts.machine_id);
        if (found == machines_.end() || found->second.machine->facts.version == facts.version)
            continue;
        if (facts.retired_at)
            machines_.erase(found);
        else
            found->second = {std::make_shared<const CachedMachine>(cached_of(std::move(facts))),
                             began};
    }
    looked_at_ = now;
    good_until_ = (began + looks_good_for).time_since_epoch().count();
}

bool MachineCache::is_overtaken(MachineId id, Time sent_at, Time now) {
    const std::lock_guard lock(mutex_);
    if (newest_.size() >= machines_max && !newest_.contains(id)) newest_.clear();
    Newest& newest = newest_.try_emplace(id, Newest{sent_at, now}).first->second;
    if (sent_at < newest.sent_at && now - newest.came_at < overtaken_within) return true;
    newest = {sent_at, now};
    return false;
}

}  // namespace berth::machines
