// What hosts tell of the health of their cards, and what is kept of it: within a budget of bytes
// for each machine, the newest first, and for a limited time.
#pragma once

#include "agent_protocol/events.hpp"
#include "agent_protocol/heartbeat.hpp"
#include "db/db.hpp"
#include "machines/machine.hpp"

namespace berth::machines {

struct MachineEventRow;  // store.hpp

inline constexpr std::int64_t event_bytes_of_machine_max = 10 * 1024 * 1024;

// Takes up that a card is lost or back; true when this is news.
bool note_gpu(Machine& machine, agent_protocol::HealthKind kind,
              const std::optional<std::string>& pci_address);

// Keeps the event, and gives up the oldest ones of the machine where it has too many. What is there
// already stays as it is: false.
bool keep_health_event(db::Transaction& tx, const MachineEventRow& row);
std::int64_t prune_machine_events(db::Transaction& tx, Time before, std::int64_t rows_max);

// As people are shown it.
struct HealthShown {
    std::string kind;
    Time at;
    wire::Nullable<std::string> pci_address;
    wire::Nullable<wire::Count> code;
    wire::Nullable<std::string> text;
};
BOOST_DESCRIBE_STRUCT(HealthShown, (), (kind, at, pci_address, code, text))
constexpr auto wire_docs(const HealthShown*) {
    return std::to_array<wire::Doc>({
        {"kind", "GPU_XID, GPU_ECC, GPU_LOST or GPU_BACK.", "GPU_XID"},
        {"at", "When the server was told."},
        {"pci_address", "Which device.", "0000:01:00.0"},
        {"code", "Of an Xid; null otherwise.", "79"},
        {"text", "As the driver said it.", "GPU has fallen off the bus"},
    });
}
inline constexpr std::int64_t health_shown_max = 20;
// Of a machine within this time, newest first.
std::vector<HealthShown> find_health_events(db::Transaction& tx, MachineId id, Time from,
                                            Time until);

using CardsNow = wire::List<agent_protocol::GpuTelemetry, 0, agent_protocol::gpus_max>;
// What a machine last told of its cards, not before `since`. Evidence only.
std::optional<CardsNow> find_cards_now(db::Transaction& tx, MachineId id, Time since);

}  // namespace berth::machines
