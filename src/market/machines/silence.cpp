#include "machines/silence.hpp"

#include "machines/told.hpp"

namespace berth::machines {
namespace {

// An owner knows of a machine that has been away for longer: it was so before anybody looked.
constexpr Duration silence_is_news_for = std::chrono::hours(24);

// Retired machines are noted once like all others, so that they are not found again and again.
constexpr std::string_view fallen_silent_sql =
    "SELECT machine_id FROM machine_health "
    "WHERE silent_since IS NULL AND last_healthy_at < $1 LIMIT $2";
constexpr std::string_view heard_again_machines_sql =
    "SELECT machine_id FROM machine_health WHERE silent_since IS NOT NULL "
    "AND last_healthy_at > $1 LIMIT $2";
constexpr std::string_view note_silent_sql =
    "UPDATE machine_health SET silent_since = $3 "
    "WHERE machine_id = $1 AND silent_since IS NULL AND last_healthy_at < $2 "
    "RETURNING last_healthy_at";
constexpr std::string_view silent_since_sql =
    "SELECT silent_since FROM machine_health WHERE machine_id = $1 AND silent_since IS NOT NULL";
constexpr std::string_view note_heard_sql =
    "UPDATE machine_health SET silent_since = NULL "
    "WHERE machine_id = $1 AND silent_since IS NOT NULL AND last_healthy_at > $2 "
    "RETURNING last_healthy_at";

}  // namespace

std::vector<MachineId> find_fallen_silent(db::Transaction& tx, Time heard_before,
                                          std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(fallen_silent_sql, heard_before, rows_max);
}

std::vector<MachineId> find_heard_again(db::Transaction& tx, Time heard_after,
                                        std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(heard_again_machines_sql, heard_after, rows_max);
}

// A machine is held before its health is changed, as heartbeats do it.
std::optional<Silence> note_silent(const db::Context& context, MachineId id, Time heard_before) {
    auto machine = hold(context.tx, id);
    const auto last_healthy_at =
        context.tx.fetch_value<Time>(note_silent_sql, id, heard_before, context.now);
    if (!machine || !last_healthy_at) return std::nullopt;
    if (*last_healthy_at > context.now - silence_is_news_for)
        events::tell(context, machine_silent, machine->owner, id, SilenceFacts{*last_healthy_at});
    return Silence{std::move(*machine), context.now, *last_healthy_at};
}

std::optional<Silence> note_heard_again(const db::Context& context, MachineId id,
                                        Time heard_after) {
    auto machine = hold(context.tx, id);
    const auto noted_at = context.tx.fetch_value<Time>(silent_since_sql, id);
    const auto last_healthy_at = context.tx.fetch_value<Time>(note_heard_sql, id, heard_after);
    if (!machine || !noted_at || !last_healthy_at) return std::nullopt;
    events::tell(context, machine_heard, machine->owner, id, SilenceFacts{*last_healthy_at});
    return Silence{std::move(*machine), *noted_at, *last_healthy_at};
}

}  // namespace berth::machines
