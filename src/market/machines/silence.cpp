#include "machines/silence.hpp"

#include "machines/told.hpp"

namespace berth::machines {
namespace {

constexpr std::string_view fallen_silent_sql =
    "SELECT h.machine_id FROM machine_health AS h "
    "JOIN machines AS m ON m.machine_id = h.machine_id "
    "WHERE h.silent_since IS NULL AND h.last_healthy_at < $1 AND m.retired_at IS NULL LIMIT $2";
constexpr std::string_view heard_again_machines_sql =
    "SELECT machine_id FROM machine_health WHERE silent_since IS NOT NULL "
    "AND last_healthy_at > $1 LIMIT $2";
constexpr std::string_view note_silent_sql =
    "UPDATE machine_health SET silent_since = $3 "
    "WHERE machine_id = $1 AND silent_since IS NULL AND last_healthy_at < $2 "
    "RETURNING last_healthy_at";
constexpr std::string_view note_heard_sql =
    "UPDATE machine_health SET silent_since = NULL "
    "WHERE machine_id = $1 AND silent_since IS NOT NULL AND last_healthy_at > $2 "
    "RETURNING last_healthy_at";

bool tell_owner_of(const db::Context& context, const events::Kind<SilenceFacts>& kind, MachineId id,
                   const std::optional<Time>& last_healthy_at) {
    if (!last_healthy_at) return false;
    if (const auto owner = owner_of(context.tx, id))
        events::tell(context, kind, *owner, id, SilenceFacts{*last_healthy_at});
    return true;
}

}  // namespace

std::vector<MachineId> find_fallen_silent(db::Transaction& tx, Time heard_before,
                                          std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(fallen_silent_sql, heard_before, rows_max);
}

std::vector<MachineId> find_heard_again(db::Transaction& tx, Time heard_after,
                                        std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(heard_again_machines_sql, heard_after, rows_max);
}

bool note_silent(const db::Context& context, MachineId id, Time heard_before) {
    return tell_owner_of(
        context, machine_silent, id,
        context.tx.fetch_value<Time>(note_silent_sql, id, heard_before, context.now));
}

bool note_heard_again(const db::Context& context, MachineId id, Time heard_after) {
    return tell_owner_of(context, machine_heard, id,
                         context.tx.fetch_value<Time>(note_heard_sql, id, heard_after));
}

}  // namespace berth::machines
