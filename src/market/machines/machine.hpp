// The row that decides what a machine may do and what is sold of it. Whoever changes a machine
// takes it by hold(), changes the members, and writes it back with save() (or apply(), where its
// state moves): two who do so at once follow one another, and none works on what was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/migrate.hpp"
#include "machines/types.hpp"

namespace berth::machines {

// An agent is taken to be there for this long after it was last heard.
inline constexpr Duration heartbeat_fresh = std::chrono::seconds(90);

struct Machine {
    MachineId machine_id;
    // Grows with every change of the row; what was read is written back only onto itself.
    std::int64_t version = 0;
    AccountId owner;
    Tier tier = Tier::container;
    std::optional<std::string> label;
    Time enrolled_at;
    std::optional<Time> retired_at;
    MachineState state = MachineState::UNQUALIFIED;
    std::int64_t fence = 1;
    Time changed_at;  // together with version

    // What the agent says of itself
    std::string public_key;  // Ed25519, base64
    std::string agent_version;
    std::string boot_id;
    std::string manifest_hash;
    bool manifest_pending = false;  // it changed while a job held the machine
    RuntimeKind runtime_kind = RuntimeKind::container;
    std::optional<std::string> gpu_model;      // of the first device
    std::optional<std::string> gpu_model_key;  // canonical, such as rtx-4090
    std::optional<std::int64_t> gpu_count;
    std::string backends;  // comma separated, sorted
    bool gpu_memory_shared = false;
    std::string gpus_lost = "[]";  // where they sat: a JSON array of bus addresses
    std::optional<std::string> driver_version;
    std::optional<std::string> cuda_max;
    std::optional<std::int64_t> cpu_cores;
    std::optional<Continent> continent;  // of the address it enrolled from

    // How renters reach its jobs, as the last test that it passed has found.
    Reach reach = Reach::direct;

    VerificationLevel verification_level = VerificationLevel::unverified;
    bool accepts_custom_images = false;

    // How the host is used beside us; all empty until a heartbeat says so
    std::optional<HostMode> mode;
    std::optional<bool> offerable;
    std::string mode_reasons = "[]";  // a JSON array of strings
    std::optional<Time> mode_observed_at;

    // What is sold; the versions themselves belong to offers
    OfferId offer_id;
    std::int64_t offer_version = 0;  // 0: none was ever published
    std::optional<OfferState> offer_state;
    std::optional<Time> listed_at;        // when it last became listed
    std::optional<Time> available_until;  // of the current version
    std::optional<AvailabilityClass> availability_class;

    QualifyState qualify_state = QualifyState::waiting;
    std::optional<std::string> qualify_reason;
    std::int64_t qualify_failures = 0;
    std::optional<Time> qualify_next_at;              // when the worker looks again
    std::optional<RunId> qualify_run_id;              // the test in progress
    std::optional<std::string> tested_manifest_hash;  // of the last test that passed
    std::optional<bool> wipe_available;               // as that test found

    // The job that holds the machine, or held it and was not cleaned yet
    std::optional<JobId> job_id;
    std::int64_t starts_failed = 0;      // in a row
    std::optional<Time> clean_deadline;  // of a job that the books do not know
    std::optional<QuarantineCause> quarantined_by;
    bool quarantine_held = false;        // only an operator lifts it
    std::optional<Time> figures_due_at;  // when its rentals and heartbeats are counted next

    bool has_lost_gpu() const { return gpus_lost != "[]"; }
};
BOOST_DESCRIBE_STRUCT(Machine, (),
                      (machine_id, version, owner, tier, label, enrolled_at, retired_at, state,
                       fence, changed_at, public_key, agent_version, boot_id, manifest_hash,
                       manifest_pending, runtime_kind, gpu_model, gpu_model_key, gpu_count,
                       backends, gpu_memory_shared, gpus_lost, driver_version, cuda_max, cpu_cores,
                       continent, reach, verification_level, accepts_custom_images, mode, offerable,
                       mode_reasons, mode_observed_at, offer_id, offer_version, offer_state,
                       listed_at, available_until, availability_class, qualify_state,
                       qualify_reason, qualify_failures, qualify_next_at, qualify_run_id,
                       tested_manifest_hash, wipe_available, job_id, starts_failed, clean_deadline,
                       quarantined_by, quarantine_held, figures_due_at))

// What the last passed test measured; empty where nothing was. Rates are in thousandths of their
// unit.
struct Measured {
    std::optional<std::int64_t> vram_bytes;  // of the smallest device
    std::optional<std::int64_t> ram_bytes;
    std::optional<std::int64_t> disk_bytes;
    std::optional<std::int64_t> cpu_cores_measured;
    std::optional<std::int64_t> download_mbps_milli;
    std::optional<std::int64_t> upload_mbps_milli;
    std::optional<std::int64_t> gpu_mem_bw_gbps_milli;
    std::optional<std::int64_t> tflops_milli;  // FP32
    std::optional<std::int64_t> ai_speed_tok_s_milli;
    std::optional<std::int64_t> pcie_gbps_milli;
    std::string gpus_bytes = "[]";  // memory of each device: a JSON array
};
BOOST_DESCRIBE_STRUCT(Measured, (),
                      (vram_bytes, ram_bytes, disk_bytes, cpu_cores_measured, download_mbps_milli,
                       upload_mbps_milli, gpu_mem_bw_gbps_milli, tflops_milli, ai_speed_tok_s_milli,
                       pcie_gbps_milli, gpus_bytes))

// A rate as it is stored, and as it is shown.
inline constexpr double rate_scale = 1000;
inline std::optional<double> shown_rate(const std::optional<std::int64_t>& milli) {
    return milli ? std::optional(static_cast<double>(*milli) / rate_scale) : std::nullopt;
}

// A machine that is not retired, to be read.
std::optional<Machine> find(db::Transaction& tx, MachineId id);
// The one that this offer is of, if it is not retired.
std::optional<Machine> find_by_offer(db::Transaction& tx, OfferId id);
// The same, to be changed: nobody else can until this transaction is over.
std::optional<Machine> hold(db::Transaction& tx, MachineId id);
// The same of an owner's own; NOT_FOUND when it is somebody else's or gone.
Machine hold_own(db::Transaction& tx, MachineId id, AccountId owner);
// Whose it is or, retired, was.
std::optional<AccountId> owner_of(db::Transaction& tx, MachineId id);
std::optional<Measured> find_measured(db::Transaction& tx, MachineId id);
// Why it is reached as it is, for its owner; nothing before the first test that it passed.
std::optional<std::string> find_reach_why(db::Transaction& tx, MachineId id);
void save_reach_why(db::Transaction& tx, MachineId id, std::string_view why);
// What the owner wants of gates, as the manifest says; empty: what the test finds.
std::optional<GateWish> find_wish(db::Transaction& tx, MachineId id);
std::optional<std::string> find_manifest(db::Transaction& tx, MachineId id);  // canonical JSON
std::optional<Time> find_last_healthy(db::Transaction& tx, MachineId id);
// How many were heard in this time and not since.
std::int64_t count_heard(db::Transaction& tx, Time from, Time before);

// A new machine with its manifest and the uuids of its GPUs.
void add(db::Transaction& tx, const Machine& machine, std::string_view manifest,
         const std::vector<std::string>& gpu_uuids);
// Writes the row back, version + 1; CONFLICT when it is not as it was read.
void save(const db::Context& context, Machine& machine);
void save_measured(db::Transaction& tx, MachineId id, const Measured& measured);
void save_manifest(db::Transaction& tx, MachineId id, std::string_view manifest,
                   const std::vector<std::string>& gpu_uuids);
// The agent was heard; with what it told of itself, if it did.
struct Heard {
    MachineId machine_id;
    Time last_healthy_at;
    std::string boot_id;
    std::optional<std::string> telemetry = {};  // JSON
    std::optional<Time> telemetry_at = {};
};
BOOST_DESCRIBE_STRUCT(Heard, (), (machine_id, last_healthy_at, boot_id, telemetry, telemetry_at))
void note_heard(db::Transaction& tx, const Heard& heard);

// The images that are on a host already. They are no part of what a machine is: no version changes.
struct ImagesRow {
    MachineId machine_id;
    std::string images;  // digests: a JSON array
    Time changed_at;
};
BOOST_DESCRIBE_STRUCT(ImagesRow, (), (machine_id, images, changed_at))
void save_images(db::Transaction& tx, const ImagesRow& row);

// What offers say of the current version and its state. The state must be one that the table of
// offers leads to from where it is.
struct OfferChange {
    std::int64_t offer_version = 0;
    std::optional<OfferState> offer_state = {};
    std::optional<Time> listed_at = {};
    std::optional<Time> available_until = {};
    std::optional<AvailabilityClass> availability_class = {};
};
void set_offer(const db::Context& context, Machine& machine, const OfferChange& change);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::machines
