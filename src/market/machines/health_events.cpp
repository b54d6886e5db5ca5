#include "machines/health_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agent_protocol/evidence.hpp"
#include "base/log.hpp"
#include "machines/store.hpp"
#include "wire/open.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

constexpr std::int64_t dropped_at_once_max = 64;
// Every machine that ever was put aside is judged by these.
constexpr std::string_view health_only = "kind <> 'QUARANTINED'";

constexpr std::string_view find_telemetry_sql =
    "SELECT telemetry FROM machine_health WHERE machine_id = $1 AND telemetry_at >= $2 AND "
    "telemetry IS NOT NULL";
const db::Query<MachineEventRow> keep_event_sql(
    "INSERT INTO machine_events ({}) VALUES ({$}) ON CONFLICT (event_id) DO NOTHING");
constexpr std::string_view add_use_sql =
    "INSERT INTO machine_event_use (machine_id, bytes) VALUES ($1, $2) "
    "ON CONFLICT (machine_id) DO UPDATE SET bytes = machine_event_use.bytes + $2 RETURNING bytes";

struct KeptBytes {
    MachineEventId event_id;
    MachineId machine_id;
    std::string kind;
    std::int64_t bytes = 0;
};
BOOST_DESCRIBE_STRUCT(KeptBytes, (), (event_id, machine_id, kind, bytes))
const db::Query<KeptBytes> oldest_sql(fmt::format(
    "SELECT {{}} FROM (SELECT event_id, machine_id, kind, CAST(LENGTH(detail) AS BIGINT) AS bytes, "
    "at FROM machine_events WHERE machine_id = $1 AND {} ORDER BY at LIMIT $2) AS oldest "
    "ORDER BY at",
    health_only));
const db::Query<KeptBytes> overdue_events_sql(
    "SELECT {} FROM (SELECT event_id, machine_id, kind, CAST(LENGTH(detail) AS BIGINT) AS bytes, "
    "at FROM machine_events WHERE at < $1 ORDER BY at LIMIT $2) AS overdue ORDER BY at");
constexpr std::string_view drop_sql = "DELETE FROM machine_events WHERE event_id = $1";
const db::Query<MachineEventRow> find_health_sql(
    fmt::format("SELECT {{}} FROM machine_events WHERE machine_id = $1 AND at >= $2 AND at <= $3 "
                "AND {} ORDER BY at DESC, event_id LIMIT $4",
                health_only));

struct KeptHealth {
    agent_protocol::HealthEvidence evidence;
};
BOOST_DESCRIBE_STRUCT(KeptHealth, (), (evidence))

// How many bytes the machine has after this many more, or fewer.
std::int64_t add_use(db::Transaction& tx, MachineId id, std::int64_t bytes) {
    return tx.fetch_value<std::int64_t>(add_use_sql, id, bytes).value();
}

std::int64_t bytes_of(const MachineEventRow& row) {
    // As LENGTH() counts: characters, of which none begins with the bits 10.
    return std::ranges::count_if(row.detail, [](char c) { return (c & 0xC0) != 0x80; });
}

HealthShown shown(const MachineEventRow& row) {
    using agent_protocol::given;
    HealthShown out;
    out.kind = row.kind;
    out.at = row.at;
    const auto kept = wire::read_known<KeptHealth>(row.detail);
    if (!kept) return out;
    if (const auto address = given(kept->evidence.pci_address)) out.pci_address = address->value;
    if (const auto code = given(kept->evidence.code)) out.code = wire::Count{code->value};
    if (const auto text = given(kept->evidence.text)) out.text = redact(text->value);
    return out;
}

}  // namespace

bool note_gpu(Machine& machine, agent_protocol::HealthKind kind,
              const std::optional<std::string>& pci_address) {
    using agent_protocol::HealthKind;
    if (kind != HealthKind::gpu_lost && kind != HealthKind::gpu_back) return false;
    auto lost = wire::decode<std::vector<std::string>>(machine.gpus_lost, "stored");
    const std::string address = pci_address.value_or("");
    if (kind == HealthKind::gpu_lost) {
        const bool is_known = std::ranges::find(lost, address) != lost.end();
        if (is_known || lost.size() >= agent_protocol::gpus_max) return false;
        lost.push_back(address);
    } else {
        // Who does not say which card is back says it of all.
        const auto rest = std::erase_if(
            lost, [&](const std::string& each) { return address.empty() || each == address; });
        if (rest == 0) return false;
    }
    machine.gpus_lost = wire::encode(lost);
    return true;
}

bool keep_health_event(db::Transaction& tx, const MachineEventRow& row) {
    if (tx.insert(keep_event_sql, row).affected == 0) return false;
    const std::int64_t used = add_use(tx, row.machine_id, bytes_of(row));
    std::int64_t freed = 0;
    while (used - freed > event_bytes_of_machine_max) {
        const auto oldest = tx.fetch(oldest_sql, row.machine_id, dropped_at_once_max);
        if (oldest.empty()) break;
        for (const KeptBytes& each : oldest) {
            if (used - freed <= event_bytes_of_machine_max) break;
            tx.run(drop_sql, each.event_id);
            freed += each.bytes;
        }
    }
    if (freed > 0) add_use(tx, row.machine_id, -freed);
    return true;
}

std::int64_t prune_machine_events(db::Transaction& tx, Time before, std::int64_t rows_max) {
    const auto overdue = tx.fetch(overdue_events_sql, before, rows_max);
    std::map<MachineId, std::int64_t> freed;
    for (const KeptBytes& each : overdue) {
        tx.run(drop_sql, each.event_id);
        if (each.kind != quarantined_kind) freed[each.machine_id] += each.bytes;
    }
    for (const auto& [machine, bytes] : freed) add_use(tx, machine, -bytes);
    return static_cast<std::int64_t>(overdue.size());
}

std::vector<HealthShown> find_health_events(db::Transaction& tx, MachineId id, Time from,
                                            Time until) {
    std::vector<HealthShown> out;
    for (const MachineEventRow& row : tx.fetch(find_health_sql, id, from, until, health_shown_max))
        out.push_back(shown(row));
    return out;
}

std::optional<CardsNow> find_cards_now(db::Transaction& tx, MachineId id, Time since) {
    const auto told = tx.fetch_value<std::string>(find_telemetry_sql, id, since);
    if (!told) return std::nullopt;
    return wire::decode<agent_protocol::Telemetry>(*told, "stored").gpus;
}

}  // namespace berth::machines
