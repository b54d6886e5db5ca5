// All SQL of the catalog. It reads what machines, offers and accounts write, and writes nothing.
#pragma once

#include "catalog/types.hpp"
#include "db/db.hpp"

namespace berth::catalog {

// A machine with the current version of its offer.
struct OfferRow {
    MachineId machine_id;
    std::int64_t version = 0;
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    std::optional<Time> retired_at;
    Tier tier = Tier::container;
    machines::RuntimeKind runtime_kind = machines::RuntimeKind::container;
    std::optional<std::string> gpu_model;
    std::optional<std::string> gpu_model_key;
    std::optional<std::int64_t> gpu_count;
    std::string backends;
    std::optional<std::string> driver_version;
    std::optional<std::string> cuda_max;
    std::optional<Continent> continent;
    VerificationLevel verification_level = VerificationLevel::unverified;
    bool accepts_custom_images = false;
    std::optional<std::int64_t> vram_bytes;
    std::optional<std::int64_t> ram_bytes;
    std::optional<std::int64_t> disk_bytes;
    std::optional<std::int64_t> cpu_cores_measured;
    std::optional<std::int64_t> download_mbps_milli;
    std::optional<std::int64_t> upload_mbps_milli;
    std::optional<std::int64_t> gpu_mem_bw_gbps_milli;
    std::optional<std::int64_t> tflops_milli;
    std::optional<std::int64_t> ai_speed_tok_s_milli;
    std::int64_t rated_jobs = 0;
    std::int64_t faulted_jobs = 0;
    std::optional<std::int64_t> uptime_bps;
    std::int64_t interruptible_runs = 0;
    std::int64_t uninterrupted_runs = 0;
    std::optional<Time> interruption_at;
    std::optional<machines::HostMode> mode;
    std::optional<bool> offerable;
    OfferId offer_id;
    std::int64_t offer_version = 0;
    std::optional<machines::OfferState> offer_state;
    std::optional<Time> listed_at;
    Micro rate_micro_per_hour;
    std::int64_t included_disk_gib = 0;
    std::int64_t included_egress_gib = 0;
    Time available_from;
    Time available_until;
    machines::AvailabilityClass availability_class = machines::AvailabilityClass::dedicated;
    std::optional<std::int64_t> preemption_notice_s;
    std::optional<Time> last_healthy_at;
    bool suspended = false;        // its owner
    bool host_capability = false;  // likewise
    machines::QualifyState qualify_state = machines::QualifyState::waiting;
    std::string manifest_hash;
    std::optional<std::string> tested_manifest_hash;
    bool gpu_memory_shared = false;
    std::optional<bool> wipe_available;
    std::string gpus_lost;
};
BOOST_DESCRIBE_STRUCT(OfferRow, (),
                      (machine_id, version, state, retired_at, tier, runtime_kind, gpu_model,
                       gpu_model_key, gpu_count, backends, driver_version, cuda_max, continent,
                       verification_level, accepts_custom_images, vram_bytes, ram_bytes, disk_bytes,
                       cpu_cores_measured, download_mbps_milli, upload_mbps_milli,
                       gpu_mem_bw_gbps_milli, tflops_milli, ai_speed_tok_s_milli, rated_jobs,
                       faulted_jobs, uptime_bps, interruptible_runs, uninterrupted_runs,
                       interruption_at, mode, offerable, offer_id, offer_version, offer_state,
                       listed_at, rate_micro_per_hour, included_disk_gib, included_egress_gib,
                       available_from, available_until, availability_class, preemption_notice_s,
                       last_healthy_at, suspended, host_capability, qualify_state, manifest_hash,
                       tested_manifest_hash, gpu_memory_shared, wipe_available, gpus_lost))

// The offers that are listed, by the id of their machine.
std::vector<OfferRow> read_listed(db::Transaction& tx, MachineId after, std::int64_t rows_max);
// The offers of these machines, listed or not; a machine without an offer gives no row.
std::vector<OfferRow> read_offers(db::Transaction& tx, const std::vector<MachineId>& machines);

// What is on their disks already.
struct WarmRow {
    MachineId machine_id;
    std::string images;  // digests: a JSON array
};
BOOST_DESCRIBE_STRUCT(WarmRow, (), (machine_id, images))
std::vector<WarmRow> read_warm(db::Transaction& tx, const std::vector<MachineId>& machines);
// Of all machines after the first and up to the last.
std::vector<WarmRow> read_warm(db::Transaction& tx, MachineId after, MachineId last);

struct Version {
    MachineId machine_id;
    std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Version, (), (machine_id, version))
std::vector<Version> read_changed(db::Transaction& tx, Time since, std::int64_t rows_max);

struct Heartbeat {
    MachineId machine_id;
    Time last_healthy_at;
};
BOOST_DESCRIBE_STRUCT(Heartbeat, (), (machine_id, last_healthy_at))
std::vector<Heartbeat> read_heartbeats(db::Transaction& tx, Time since, std::int64_t rows_max);

std::vector<MachineId> read_machines_of(db::Transaction& tx, AccountId owner);

}  // namespace berth::catalog
