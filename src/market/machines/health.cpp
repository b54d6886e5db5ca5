#include "machines/health.hpp"

#include <utility>
#include <vector>

#include "machines/store.hpp"

namespace berth::machines {

void HealthBatch::write_all(db::Transaction& tx, const ByMachine& batch) {
    std::vector<const Heard*> rows;
    rows.reserve(batch.size());
    for (const auto& entry : batch) rows.push_back(&entry.second);
    note_heard_of(tx, rows);
}

void HealthBatch::merge(ByMachine& into, Heard heard) {
    const auto [place, is_new] = into.try_emplace(heard.machine_id, heard);
    if (is_new || heard.last_healthy_at < place->second.last_healthy_at) return;
    if (!heard.telemetry && place->second.telemetry) {
        heard.boot_id = std::move(place->second.boot_id);
        heard.telemetry = std::move(place->second.telemetry);
        heard.telemetry_at = place->second.telemetry_at;
    }
    place->second = std::move(heard);
}

void HealthBatch::note(Heard heard) {
    const std::lock_guard lock(mutex_);
    if (noted_.size() >= machines_max && !noted_.contains(heard.machine_id)) return;
    merge(noted_, std::move(heard));
}

std::size_t HealthBatch::size() const {
    const std::lock_guard lock(mutex_);
    return noted_.size();
}

void HealthBatch::write(db::Database& database) {
    ByMachine batch;
    {
        const std::lock_guard lock(mutex_);
        batch.swap(noted_);
    }
    if (batch.empty()) return;
    try {
        database.write([&](db::Transaction& tx) { write_all(tx, batch); });
    } catch (...) {
        const std::lock_guard lock(mutex_);
        for (auto& [id, heard] : noted_) merge(batch, std::move(heard));
        noted_ = std::move(batch);
        throw;
    }
}

}  // namespace berth::machines
