#include <fmt/format.h>

#include "machines/gpus.hpp"
#include "machines/machine.hpp"

namespace berth::machines {
namespace {

constexpr std::string_view leave_out_gpus_sql =
    "UPDATE machine_gpus SET is_present = 0 WHERE machine_id = $1";
// A card that was only ever named leaves no trace; one that it passed with does.
constexpr std::string_view forget_gpus_sql =
    "DELETE FROM machine_gpus WHERE machine_id = $1 AND is_present = 0 "
    "AND first_passed_at IS NULL";
constexpr std::string_view name_gpu_sql =
    "INSERT INTO machine_gpus (uuid, machine_id) VALUES ($1, $2) "
    "ON CONFLICT (uuid, machine_id) DO UPDATE SET is_present = 1";
constexpr std::string_view note_shared_sql =
    "UPDATE machine_gpus SET is_shared = 1 WHERE is_shared = 0 AND uuid IN ("
    "  SELECT own.uuid FROM machine_gpus AS own JOIN machine_gpus AS other "
    "  ON other.uuid = own.uuid AND other.machine_id <> own.machine_id "
    "  WHERE own.machine_id = $1)";
constexpr std::string_view note_passed_sql =
    "UPDATE machine_gpus SET first_passed_at = $2 "
    "WHERE machine_id = $1 AND is_present = 1 AND first_passed_at IS NULL";

// $1 is who was heard since. What is shared at all is rare, and has an index.
constexpr std::string_view duplicates_sql =
    "SELECT DISTINCT own.machine_id FROM machine_gpus AS own "
    "JOIN machine_gpus AS other ON other.uuid = own.uuid AND other.machine_id <> own.machine_id "
    "JOIN machines AS m ON m.machine_id = other.machine_id "
    "JOIN machine_health AS h ON h.machine_id = other.machine_id "
    "LEFT JOIN accounts AS a ON a.account_id = m.owner "
    "WHERE own.is_shared = 1 AND own.is_present = 1 AND other.is_present = 1 "
    "AND m.retired_at IS NULL AND m.qualify_state = 'passed' AND m.state <> 'QUARANTINED' "
    "AND COALESCE(a.suspended, 0) = 0 AND h.last_healthy_at >= $1 AND other.first_passed_at IS NOT "
    "NULL "
    "AND (own.first_passed_at IS NULL OR other.first_passed_at < own.first_passed_at "
    "  OR (other.first_passed_at = own.first_passed_at "
    "    AND other.machine_id < own.machine_id))";
const std::string find_duplicates_sql = fmt::format("{} ORDER BY 1", duplicates_sql);
const std::string is_duplicate_sql = fmt::format("{} AND own.machine_id = $2", duplicates_sql);
constexpr std::string_view claimed_sql =
    "SELECT 1 FROM machine_gpus AS own "
    "JOIN machine_gpus AS other ON other.uuid = own.uuid AND other.machine_id <> own.machine_id "
    "JOIN machines AS m ON m.machine_id = other.machine_id "
    "WHERE own.machine_id = $1 AND own.is_present = 1 AND other.is_present = 1 "
    "AND m.retired_at IS NULL LIMIT 1";

}  // namespace

void name_gpus(db::Transaction& tx, MachineId id, const std::vector<std::string>& uuids) {
    tx.run(leave_out_gpus_sql, id);
    for (const std::string& uuid : uuids) tx.run(name_gpu_sql, uuid, id);
    tx.run(forget_gpus_sql, id);
    tx.run(note_shared_sql, id);
}

void note_gpus_passed(const db::Context& context, MachineId id) {
    context.tx.run(note_passed_sql, id, context.now);
    // Two that named a card in the same moment did not see each other.
    context.tx.run(note_shared_sql, id);
}

std::vector<MachineId> find_duplicates(db::Transaction& tx, Time now) {
    return tx.fetch_values<MachineId>(find_duplicates_sql, now - heartbeat_fresh);
}

bool is_duplicate(db::Transaction& tx, MachineId id, Time now) {
    return !tx.run(is_duplicate_sql, now - heartbeat_fresh, id).empty();
}

bool is_claimed_elsewhere(db::Transaction& tx, MachineId id) {
    return !tx.run(claimed_sql, id).empty();
}

}  // namespace berth::machines
