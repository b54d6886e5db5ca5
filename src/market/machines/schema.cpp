#include "machines/machine.hpp"

namespace berth::machines {
namespace {

constexpr db::Migration history[] = {
    {.feature = "machines",
     .number = 1,
     .sql =
         // One row decides what a machine does and what is sold of it. Heartbeats do not touch it
         // unless something changed. The measured columns are NULL until a test passed.
     "CREATE TABLE machines ("
     "  machine_id @id NOT NULL PRIMARY KEY,"
     "  version @int NOT NULL,"
     "  owner @id NOT NULL,"
     "  tier @text NOT NULL CHECK (tier IN ('container', 'inference')),"
     "  label @text,"
     "  enrolled_at @int NOT NULL,"
     "  retired_at @int,"
     "  state @text NOT NULL CHECK (state IN ('UNQUALIFIED', 'AVAILABLE', 'ALLOCATED',"
     "    'CLEANING', 'DRAINING', 'UNLISTED', 'QUARANTINED')),"
     "  fence @int NOT NULL CHECK (fence > 0),"
     "  changed_at @int NOT NULL,"
     "  public_key @text NOT NULL,"
     "  agent_version @text NOT NULL,"
     "  protocol_version @int NOT NULL,"
     "  boot_id @text NOT NULL,"
     "  manifest @text NOT NULL,"
     "  manifest_hash @text NOT NULL,"
     "  manifest_pending @int NOT NULL,"
     "  runtime_kind @text NOT NULL,"
     "  gpu_model @text,"
     "  gpu_model_key @text,"
     "  gpu_count @int CHECK (gpu_count > 0),"
     "  backends @text NOT NULL,"
     "  gpu_memory_shared @int NOT NULL,"
     "  driver_version @text,"
     "  cuda_max @text,"
     "  cpu_cores @int,"
     "  continent @text,"
     "  verification_level @text NOT NULL,"
     "  accepts_custom_images @int NOT NULL,"
     "  vram_bytes @int,"
     "  ram_bytes @int,"
     "  disk_bytes @int,"
     "  cpu_cores_measured @int,"
     "  download_mbps @int,"
     "  upload_mbps @int,"
     "  gpu_mem_bw_gbps @int,"
     "  tflops @int,"
     "  ai_speed_tok_s @int,"
     "  pcie_gbps @int,"
     "  mode @text,"
     "  offerable @int,"
     "  mode_reasons @text NOT NULL,"
     "  mode_observed_at @int,"
     "  offer_id @id NOT NULL UNIQUE,"
     "  offer_version @int NOT NULL CHECK (offer_version >= 0),"
     "  offer_state @text CHECK (offer_state IN ('listed', 'unlisted', 'draining')),"
     "  listed_at @int,"
     "  available_until @int,"
     "  availability_class @text,"
     "  qualify_state @text NOT NULL,"
     "  qualify_reason @text,"
     "  qualify_failures @int NOT NULL,"
     "  qualify_next_at @int,"
     "  qualify_run_id @id,"
     "  tested_manifest_hash @text,"
     "  wipe_available @int,"
     "  job_id @id,"
     "  starts_failed @int NOT NULL,"
     "  clean_deadline @int,"
     "  quarantined_by @text,"
     "  quarantine_held @int NOT NULL,"
     "  CHECK ((offer_version = 0) = (offer_state IS NULL)),"
     // What is for sale has no job; what a job holds says which.
     "  CHECK (state <> 'AVAILABLE' OR job_id IS NULL),"
     "  CHECK (state NOT IN ('ALLOCATED', 'DRAINING') OR job_id IS NOT NULL)"
     ") @strict;"
     "CREATE INDEX machines_by_owner ON machines (owner, machine_id);"
     "CREATE INDEX machines_by_change ON machines (changed_at, machine_id);"
     "CREATE INDEX machines_by_key ON machines (public_key);"
     "CREATE INDEX machines_to_test ON machines (qualify_next_at)"
     "  WHERE qualify_next_at IS NOT NULL AND retired_at IS NULL;"
     "CREATE INDEX machines_to_admit ON machines (machine_id)"
     "  WHERE state = 'UNLISTED' AND offer_state = 'listed' AND retired_at IS NULL;"
     "CREATE INDEX machines_to_expire ON machines (available_until)"
     "  WHERE offer_state IN ('listed', 'draining') AND retired_at IS NULL;"
     "CREATE INDEX machines_to_clean ON machines (clean_deadline)"
     "  WHERE clean_deadline IS NOT NULL AND retired_at IS NULL;"

     "CREATE TABLE machine_gpus ("
     "  uuid @text NOT NULL,"
     "  machine_id @id NOT NULL,"
     "  PRIMARY KEY (uuid, machine_id)"
     ") @strict;"
     "CREATE INDEX machine_gpus_by_machine ON machine_gpus (machine_id);"

     // The hot table: written for many machines in one statement, a few times a second.
     "CREATE TABLE machine_health ("
     "  machine_id @id NOT NULL PRIMARY KEY,"
     "  last_healthy_at @int NOT NULL,"
     "  boot_id @text NOT NULL,"
     "  telemetry @text,"
     "  telemetry_at @int"
     ") @strict;"

     "CREATE TABLE machine_enrollments ("
     "  enrollment_id @id NOT NULL PRIMARY KEY,"
     "  owner @id NOT NULL,"
     "  tier @text NOT NULL,"
     "  label @text,"
     "  token_hash @bytes NOT NULL UNIQUE,"
     "  created_at @int NOT NULL,"
     "  expires_at @int NOT NULL,"
     "  used_at @int,"
     "  machine_id @id"
     ") @strict;"
     "CREATE INDEX machine_enrollments_by_owner ON machine_enrollments (owner, enrollment_id);"
     "CREATE INDEX machine_enrollments_by_end ON machine_enrollments (expires_at);"

     // The payload is sealed.
     "CREATE TABLE machine_commands ("
     "  command_id @id NOT NULL PRIMARY KEY,"
     "  machine_id @id NOT NULL,"
     "  kind @text NOT NULL,"
     "  job_id @id,"
     "  fence @int NOT NULL,"
     "  lease_seq @int,"
     "  payload @bytes NOT NULL,"
     "  issued_at @int NOT NULL,"
     "  expires_at @int NOT NULL,"
     "  state @text NOT NULL CHECK (state IN ('queued', 'accepted', 'completed', 'rejected',"
     "    'expired', 'cancelled')),"
     "  result @text"
     ") @strict;"
     "CREATE INDEX machine_commands_queued ON machine_commands (machine_id, command_id)"
     "  WHERE state = 'queued';"
     "CREATE INDEX machine_commands_by_end ON machine_commands (expires_at);"
     "CREATE INDEX machine_commands_by_job ON machine_commands (job_id)"
     "  WHERE job_id IS NOT NULL;"

     "CREATE TABLE machine_runs ("
     "  run_id @id NOT NULL PRIMARY KEY,"
     "  machine_id @id NOT NULL,"
     "  state @text NOT NULL CHECK (state IN ('sent', 'dialling', 'passed', 'failed')),"
     "  manifest_hash @text NOT NULL,"
     "  seed @text NOT NULL,"
     "  endpoint_token @text NOT NULL,"
     "  endpoint_host @text,"
     "  endpoint_port @int,"
     "  started_at @int NOT NULL,"
     "  deadline_at @int NOT NULL,"
     "  finished_at @int,"
     "  result_hash @text,"
     "  measurements @text,"
     "  checks @text,"
     "  findings @text"
     ") @strict;"
     "CREATE INDEX machine_runs_by_machine ON machine_runs (machine_id, run_id);"
     "CREATE INDEX machine_runs_open ON machine_runs (deadline_at)"
     "  WHERE state IN ('sent', 'dialling');"

     // Only ever added to.
     "CREATE TABLE machine_events ("
     "  event_id @id NOT NULL PRIMARY KEY,"
     "  machine_id @id NOT NULL,"
     "  kind @text NOT NULL,"
     "  at @int NOT NULL,"
     "  detail @text NOT NULL"
     ") @strict;"
     "CREATE INDEX machine_events_by_machine ON machine_events (machine_id, kind, at);"},
    {.feature = "machines",
     .number = 2,
     .sql =
         // Which of the server's keys an agent takes commands by; without a row it is command.key.
     "CREATE TABLE machine_pins ("
     "  machine_id @id NOT NULL PRIMARY KEY,"
     "  key_id @text NOT NULL"
     ") @strict;"},
    {.feature = "machines",
     .number = 3,
     .sql =
         // Measured rates keep three digits after the point.
     "ALTER TABLE machines RENAME COLUMN download_mbps TO download_mbps_milli;"
     "ALTER TABLE machines RENAME COLUMN upload_mbps TO upload_mbps_milli;"
     "ALTER TABLE machines RENAME COLUMN gpu_mem_bw_gbps TO gpu_mem_bw_gbps_milli;"
     "ALTER TABLE machines RENAME COLUMN tflops TO tflops_milli;"
     "ALTER TABLE machines RENAME COLUMN ai_speed_tok_s TO ai_speed_tok_s_milli;"
     "ALTER TABLE machines RENAME COLUMN pcie_gbps TO pcie_gbps_milli;"
     "UPDATE machines SET download_mbps_milli = download_mbps_milli * 1000,"
     "  upload_mbps_milli = upload_mbps_milli * 1000,"
     "  gpu_mem_bw_gbps_milli = gpu_mem_bw_gbps_milli * 1000,"
     "  tflops_milli = tflops_milli * 1000,"
     "  ai_speed_tok_s_milli = ai_speed_tok_s_milli * 1000,"
     "  pcie_gbps_milli = pcie_gbps_milli * 1000;"

     // What its rentals and its heartbeats say of a machine, and when it is counted next.
     "ALTER TABLE machines ADD COLUMN rated_jobs @int NOT NULL DEFAULT 0;"
     "ALTER TABLE machines ADD COLUMN faulted_jobs @int NOT NULL DEFAULT 0;"
     "ALTER TABLE machines ADD COLUMN uptime_bps @int;"
     "ALTER TABLE machines ADD COLUMN interruptible_runs @int NOT NULL DEFAULT 0;"
     "ALTER TABLE machines ADD COLUMN uninterrupted_runs @int NOT NULL DEFAULT 0;"
     "ALTER TABLE machines ADD COLUMN interruption_at @int;"
     "ALTER TABLE machines ADD COLUMN figures_due_at @int;"
     "UPDATE machines SET figures_due_at = enrolled_at;"
     "CREATE INDEX machines_to_count ON machines (figures_due_at, machine_id)"
     "  WHERE figures_due_at IS NOT NULL AND retired_at IS NULL;"

     // How often a machine was looked for on a day, and how often it was there.
     "CREATE TABLE machine_days ("
     "  machine_id @id NOT NULL,"
     "  day @int NOT NULL,"
     "  samples @int NOT NULL,"
     "  heard @int NOT NULL,"
     "  sampled_at @int NOT NULL,"
     "  PRIMARY KEY (machine_id, day)"
     ") @strict;"
     "CREATE INDEX machine_days_by_day ON machine_days (day);"
     "CREATE INDEX machine_runs_by_start ON machine_runs (started_at);"},
    {.feature = "machines",
     .number = 4,
     .sql =
         // When an agent was answered with a command.
     "ALTER TABLE machine_commands ADD COLUMN delivered_at @int;"},
    {.feature = "machines",
     .number = 5,
     .sql =
         // When a machine first passed its test with a card; whether its manifest still names the
         // card; and whether another machine ever named it, too.
     "ALTER TABLE machine_gpus ADD COLUMN first_passed_at @int;"
     "ALTER TABLE machine_gpus ADD COLUMN is_present @int NOT NULL DEFAULT 1;"
     "ALTER TABLE machine_gpus ADD COLUMN is_shared @int NOT NULL DEFAULT 0;"
     "UPDATE machine_gpus SET first_passed_at = (SELECT MIN(r.finished_at) FROM machine_runs r"
     "  JOIN machines m ON m.machine_id = r.machine_id"
     "  WHERE r.machine_id = machine_gpus.machine_id AND r.state = 'passed'"
     "  AND r.manifest_hash = m.manifest_hash);"
     "UPDATE machine_gpus SET is_shared = 1 WHERE uuid IN (SELECT uuid FROM machine_gpus"
     "  GROUP BY uuid HAVING COUNT(*) > 1);"
     "CREATE INDEX machine_gpus_shared ON machine_gpus (machine_id) WHERE is_shared = 1;"},
    {.feature = "machines",
     .number = 6,
     .sql =
         // The proof of a machine's cards while its test goes on; gone when that is over.
     "CREATE TABLE machine_proofs ("
     "  run_id @id NOT NULL PRIMARY KEY,"
     "  seed @text NOT NULL,"
     "  begun_at @int NOT NULL,"
     "  product @text,"
     "  lane_order @text,"
     "  lanes_ordered_at @int,"
     "  lanes @text,"
     "  block_order @text,"
     "  blocks_ordered_at @int,"
     "  blocks @text,"
     "  fault @text"
     ") @strict;"},
    {.feature = "machines",
     .number = 7,
     .sql =
         // The bus addresses of cards that are lost, as a JSON array; and how many bytes of health
         // events are kept of a machine.
     "ALTER TABLE machines ADD COLUMN gpus_lost @text NOT NULL DEFAULT '[]';"
     "CREATE TABLE machine_event_use ("
     "  machine_id @id NOT NULL PRIMARY KEY,"
     "  bytes @int NOT NULL"
     ") @strict;"
     "INSERT INTO machine_event_use (machine_id, bytes) SELECT machine_id, SUM(LENGTH(detail))"
     "  FROM machine_events WHERE kind <> 'QUARANTINED' GROUP BY machine_id;"
     "CREATE INDEX machine_events_oldest ON machine_events (machine_id, at);"
     "CREATE INDEX machine_events_by_time ON machine_events (at);"},
    {.feature = "machines",
     .number = 8,
     .sql =
         // The memory of each card when its last test was passed, as a JSON array.
     "ALTER TABLE machines ADD COLUMN gpus_bytes @text NOT NULL DEFAULT '[]';"},
    {.feature = "machines",
     .number = 9,
     .sql =
         // Digests of the images that are on a host, as a JSON array: what its agent last told.
     "CREATE TABLE machine_images ("
     "  machine_id @id NOT NULL PRIMARY KEY,"
     "  images @text NOT NULL,"
     "  changed_at @int NOT NULL"
     ") @strict;"},
    {.feature = "machines",
     .number = 10,
     .sql =
         // Since when a machine is not heard, once its owner was told. Heartbeats leave it alone.
     "ALTER TABLE machine_health ADD COLUMN silent_since @int;"
     "CREATE INDEX machine_health_silent ON machine_health (silent_since)"
     "  WHERE silent_since IS NOT NULL;"},
    {.feature = "machines",
     .number = 11,
     .sql =
         // How often it was listed when it was looked for, and how often it was rented.
     "ALTER TABLE machine_days ADD COLUMN listed @int NOT NULL DEFAULT 0;"
     "ALTER TABLE machine_days ADD COLUMN rented @int NOT NULL DEFAULT 0;"
     // What operators count at every look.
     "CREATE INDEX machines_set_aside ON machines (changed_at)"
     "  WHERE state = 'QUARANTINED' AND retired_at IS NULL;"},
    {.feature = "machines",
     .number = 12,
     .sql =
         // How a machine is reached, and why; and the door of a gate that its agent named in a
         // test.
     "ALTER TABLE machines ADD COLUMN reach @text NOT NULL DEFAULT 'direct';"
     "ALTER TABLE machines ADD COLUMN reach_why @text;"
     "ALTER TABLE machine_runs ADD COLUMN door_host @text;"
     "ALTER TABLE machine_runs ADD COLUMN door_port @int;"
     "ALTER TABLE machine_runs ADD COLUMN gate_offered @int NOT NULL DEFAULT 0;"
     // What operators count at every look.
     "CREATE INDEX machines_by_gate ON machines (machine_id)"
     "  WHERE reach = 'gate' AND retired_at IS NULL;"},
    {.feature = "machines",
     .number = 13,
     .sql =
         // What the first offer of a machine is to be, from when its token was asked for.
     "ALTER TABLE machine_enrollments ADD COLUMN rate_micro_per_hour @int;"
     "ALTER TABLE machine_enrollments ADD COLUMN included_disk_gib @int;"
     "ALTER TABLE machine_enrollments ADD COLUMN included_egress_gib @int;"
     "ALTER TABLE machine_enrollments ADD COLUMN available_days @int;"
     "ALTER TABLE machine_enrollments ADD COLUMN wants_listing @int NOT NULL DEFAULT 0;"
     "CREATE INDEX machine_enrollments_by_machine ON machine_enrollments (machine_id)"
     "  WHERE machine_id IS NOT NULL;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::machines
