#include "machines/health.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

namespace berth::machines {
namespace {

constexpr std::size_t columns = 5;

std::string statement_for(std::size_t rows) {
    std::string sql =
        "INSERT INTO machine_health (machine_id, last_healthy_at, boot_id, telemetry, "
        "telemetry_at) VALUES ";
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t first = row * columns + 1;
        sql += fmt::format("{}(${}, ${}, ${}, ${}, ${})", row == 0 ? "" : ", ", first, first + 1,
                           first + 2, first + 3, first + 4);
    }
    return sql +
           " ON CONFLICT (machine_id) DO UPDATE SET "
           "last_healthy_at = excluded.last_healthy_at, "
           "boot_id = CASE WHEN excluded.telemetry IS NULL "
           "AND machine_health.telemetry IS NOT NULL "
           "THEN machine_health.boot_id ELSE excluded.boot_id END, "
           "telemetry = COALESCE(excluded.telemetry, machine_health.telemetry), "
           "telemetry_at = COALESCE(excluded.telemetry_at, machine_health.telemetry_at) "
           "WHERE machine_health.last_healthy_at <= excluded.last_healthy_at";
}

// Sends one statement for the first `Rows` of what is left.
template <std::size_t Rows>
void write_rows(db::Transaction& tx, std::span<const Heard* const>& rest) {
    static const std::string sql = statement_for(Rows);
    std::vector<db::Param> params;
    params.reserve(Rows * columns);
    for (const Heard* heard : rest.first(Rows)) {
        params.emplace_back(heard->machine_id);
        params.emplace_back(heard->last_healthy_at);
        params.emplace_back(heard->boot_id);
        params.emplace_back(heard->telemetry);
        params.emplace_back(heard->telemetry_at);
    }
    [&]<std::size_t... Index>(std::index_sequence<Index...>) { tx.start(sql, params[Index]...); }
    (std::make_index_sequence<Rows * columns>{});
    rest = rest.subspan(Rows);
}

}  // namespace

void HealthBatch::write_all(db::Transaction& tx, const ByMachine& batch) {
    std::vector<const Heard*> rows;
    rows.reserve(batch.size());
    for (const auto& entry : batch) rows.push_back(&entry.second);
    std::span<const Heard* const> rest(rows);
    while (rest.size() >= 64) write_rows<64>(tx, rest);
    while (rest.size() >= 8) write_rows<8>(tx, rest);
    while (!rest.empty()) write_rows<1>(tx, rest);
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
