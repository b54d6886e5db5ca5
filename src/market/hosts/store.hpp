// All SQL of hosts. A page of machines is read by one statement.
#pragma once

#include "db/db.hpp"
#include "machines/machine.hpp"

namespace berth::hosts {

struct SummaryRow {
    MachineId machine_id;
    AccountId owner;
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    std::string manifest;
    std::string manifest_hash;
    std::int64_t fence = 0;
    std::int64_t version = 0;
    std::optional<Time> last_healthy_at;
    std::optional<std::string> gpu_model;
    std::optional<std::int64_t> gpu_count;
    std::optional<std::int64_t> vram_bytes;
    std::optional<std::int64_t> ram_bytes;
    std::optional<std::int64_t> disk_bytes;
    std::int64_t offer_version = 0;
    std::optional<machines::OfferState> offer_state;
    std::optional<Micro> rate_micro_per_hour;
};
BOOST_DESCRIBE_STRUCT(SummaryRow, (),
                      (machine_id, owner, state, manifest, manifest_hash, fence, version,
                       last_healthy_at, gpu_model, gpu_count, vram_bytes, ram_bytes, disk_bytes,
                       offer_version, offer_state, rate_micro_per_hour))

// Newest first; without an owner those of everybody.
std::vector<SummaryRow> list_machines(db::Transaction& tx, const std::optional<AccountId>& owner,
                                      const std::optional<MachineId>& before,
                                      std::int64_t rows_max);
std::optional<SummaryRow> find_summary(db::Transaction& tx, MachineId id);

struct Sample {
    std::string boot_id;
    std::optional<std::string> telemetry;  // JSON
    std::optional<Time> telemetry_at;
};
BOOST_DESCRIBE_STRUCT(Sample, (), (boot_id, telemetry, telemetry_at))
std::optional<Sample> find_sample(db::Transaction& tx, MachineId id);

}  // namespace berth::hosts
