#include "rentals/schema.hpp"

namespace berth::rentals {
namespace {

constexpr db::Migration history[] = {
    {.feature = "rentals",
     .number = 1,
     .sql = "CREATE TABLE quotes ("
            "  quote_id @id NOT NULL PRIMARY KEY,"
            "  renter_id @id NOT NULL,"
            "  key_id @id,"
            "  offer_id @id NOT NULL,"
            "  offer_version @int NOT NULL,"
            "  machine_id @id NOT NULL,"
            "  host_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  rate @int NOT NULL CHECK (rate >= 0),"
            "  fee_bps @int NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),"
            "  budget @int NOT NULL CHECK (budget > 0),"
            "  duration_limit_s @int NOT NULL CHECK (duration_limit_s BETWEEN 60 AND 31536000),"
            "  available_until @int NOT NULL,"
            "  availability_class @text NOT NULL,"
            "  preemption_notice_s @int,"
            "  template_id @id,"
            "  image_digest @text NOT NULL,"
            "  created_at @int NOT NULL,"
            "  expires_at @int NOT NULL,"
            "  job_id @id UNIQUE"
            ") @strict;"
            "CREATE INDEX quotes_unused ON quotes (expires_at) WHERE job_id IS NULL;"

            "CREATE TABLE jobs ("
            "  job_id @id NOT NULL PRIMARY KEY,"
            "  renter_id @id NOT NULL,"
            "  host_id @id NOT NULL,"
            "  machine_id @id NOT NULL,"
            "  key_id @id,"
            "  quote_id @id NOT NULL UNIQUE,"
            "  offer_id @id NOT NULL,"
            "  offer_version @int NOT NULL,"
            "  template_id @id,"
            "  template_slug @text,"
            "  template_name @text,"
            "  template_kind @text,"
            "  image_digest @text NOT NULL,"
            "  availability_class @text NOT NULL,"
            "  preemption_notice_s @int,"
            "  asset @text NOT NULL,"
            "  rate @int NOT NULL,"
            "  fee_bps @int NOT NULL,"
            "  duration_limit_s @int NOT NULL,"
            "  available_until @int NOT NULL,"
            "  start_deadline_s @int NOT NULL,"
            "  readiness_path @text,"
            "  has_ssh @int NOT NULL,"
            "  fence @int NOT NULL,"
            "  endpoint_key @text NOT NULL,"
            "  created_at @int NOT NULL,"

            "  state @text NOT NULL CHECK (state IN ('RESERVED', 'STARTING', 'READY', 'RUNNING',"
            "    'STOPPING', 'STOPPED', 'FAILED', 'CLOSED')),"
            "  budget @int NOT NULL,"
            "  budget_version @int NOT NULL,"
            "  lease_seq @int NOT NULL,"
            "  lease_until @int,"
            "  waiting_since @int NOT NULL,"
            "  accepted_at @int,"
            "  meter_started_at @int,"
            "  meter_stopped_at @int,"
            "  accepted_ms @int NOT NULL CHECK (accepted_ms >= 0),"
            "  reported_ms @int NOT NULL,"
            "  reported_at @int,"
            "  engine_down_at @int,"
            "  seen_at @int,"
            "  boot_id @text,"
            "  container_id @text,"
            "  notice_at @int,"
            "  notice_until @int,"
            "  ended_at @int,"
            "  end_reason @text,"
            "  retrieval_until @int,"
            "  clean_sent_at @int,"
            "  cleaned_at @int,"
            "  settled_at @int,"
            "  is_settled @int NOT NULL,"
            "  usage_kept_at @int,"
            "  evidence_count @int NOT NULL,"
            "  evidence_head @text,"
            "  deadline_at @int,"

            "  failure_code @text,"
            "  failure_message @text,"
            "  progress_step @text,"
            "  progress_done @int,"
            "  progress_total @int,"
            "  pull_ms @int,"
            "  load_ms @int,"
            "  probe_ms @int,"
            "  endpoints @text,"
            "  ssh_fingerprint @text,"
            "  log_tail @text,"
            "  log_at @int,"
            // Nothing ran before READY, so nothing can have been accepted.
            "  CHECK (meter_started_at IS NOT NULL OR accepted_ms = 0)"
            ") @strict;"
            "CREATE INDEX jobs_by_renter ON jobs (renter_id, job_id);"
            "CREATE INDEX jobs_by_machine ON jobs (machine_id, job_id);"
            "CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE deadline_at IS NOT NULL;"
            "CREATE INDEX jobs_before_ready ON jobs (renter_id)"
            "  WHERE state IN ('RESERVED', 'STARTING');"
            "CREATE INDEX jobs_with_evidence ON jobs (ended_at) WHERE evidence_count > 0;"
            // A machine serves one job at a time, whatever went wrong above.
            "CREATE UNIQUE INDEX jobs_on_machine ON jobs (machine_id)"
            "  WHERE state IN ('RESERVED', 'STARTING', 'READY', 'RUNNING', 'STOPPING');"

            "CREATE TABLE job_evidence ("
            "  job_id @id NOT NULL,"
            "  sequence @int NOT NULL,"
            "  at @int NOT NULL,"
            "  kind @text NOT NULL,"
            "  source @text NOT NULL CHECK (source IN ('machine', 'server')),"
            "  payload @text NOT NULL,"
            "  body @text,"
            "  signature_input @text,"
            "  signature @text,"
            "  authority @text,"
            "  path @text,"
            "  public_key @text,"
            "  lease_seq @int,"
            "  content_hash @text,"
            "  answer @text,"
            "  hash @text NOT NULL,"
            "  previous_hash @text,"
            "  PRIMARY KEY (job_id, sequence)"
            ") @strict;"
            "CREATE INDEX job_evidence_by_content ON job_evidence (job_id, content_hash)"
            "  WHERE content_hash IS NOT NULL;"
            "CREATE INDEX job_evidence_by_lease ON job_evidence (job_id, kind, lease_seq)"
            "  WHERE lease_seq IS NOT NULL;"},
    // When the worker was last there, and since when without a gap: one row.
    {.feature = "rentals",
     .number = 2,
     .sql = "CREATE TABLE service_life ("
            "  one @int NOT NULL PRIMARY KEY CHECK (one = 1),"
            "  up_since @int NOT NULL,"
            "  alive_at @int NOT NULL"
            ") @strict;"
            "ALTER TABLE quotes ADD COLUMN included_disk_gib @int NOT NULL DEFAULT 0;"
            "ALTER TABLE quotes ADD COLUMN included_egress_gib @int NOT NULL DEFAULT 0;"},
    {.feature = "rentals",
     .number = 3,
     .sql = "CREATE TABLE stray_jobs ("
            "  machine_id @id NOT NULL,"
            "  job_id @id NOT NULL,"
            "  seen_at @int NOT NULL,"
            "  cleaned_at @int,"
            "  PRIMARY KEY (machine_id, job_id)"
            ") @strict;"
            "CREATE INDEX stray_jobs_cleaned ON stray_jobs (cleaned_at)"
            "  WHERE cleaned_at IS NOT NULL;"},
    // Who stops a job may say at once that there is nothing to fetch.
    {.feature = "rentals",
     .number = 4,
     .sql = "ALTER TABLE jobs ADD COLUMN skip_retrieval @int NOT NULL DEFAULT 0;"
            "CREATE INDEX jobs_by_template ON jobs (template_id, meter_started_at)"
            "  WHERE pull_ms IS NOT NULL;"},
    // A job that runs is in no index that its heartbeats would change.
    {.feature = "rentals",
     .number = 5,
     .sql = "DROP INDEX jobs_with_evidence;"
            "CREATE INDEX jobs_with_evidence ON jobs (ended_at)"
            "  WHERE ended_at IS NOT NULL AND evidence_count > 0;"},
    // What a late report leaves for the one after it.
    {.feature = "rentals",
     .number = 6,
     .sql = "ALTER TABLE jobs ADD COLUMN carry_ms @int NOT NULL DEFAULT 0"
            "  CHECK (carry_ms BETWEEN 0 AND 30000);"},
    // Against renters who take machines out of service for nothing: how many of their jobs hold
    // one, when they ended without having been billed, how long files can be fetched at least, and
    // how much of an image had come when a start last made good progress.
    {.feature = "rentals",
     .number = 7,
     .sql = "ALTER TABLE jobs ADD COLUMN unbilled_at @int;"
            "ALTER TABLE jobs ADD COLUMN retrieval_min_s @int NOT NULL DEFAULT 900;"
            "ALTER TABLE jobs ADD COLUMN pulled_bytes @int NOT NULL DEFAULT 0;"
            "DROP INDEX jobs_before_ready;"
            "CREATE INDEX jobs_holding ON jobs (renter_id)"
            "  WHERE state <> 'CLOSED' AND (state <> 'FAILED' OR clean_sent_at IS NOT NULL);"
            "CREATE INDEX jobs_unbilled ON jobs (renter_id, unbilled_at)"
            "  WHERE unbilled_at IS NOT NULL;"},
    // What READY has to name.
    {.feature = "rentals",
     .number = 8,
     .sql = "ALTER TABLE jobs ADD COLUMN exposes @text NOT NULL DEFAULT '[]';"},
    // Since when a card of the host is lost, and how many bytes of evidence there are. A record
    // whose payload is empty has it in its body.
    {.feature = "rentals",
     .number = 9,
     .sql = "ALTER TABLE jobs ADD COLUMN gpu_lost_at @int;"
            "ALTER TABLE jobs ADD COLUMN evidence_bytes @int NOT NULL DEFAULT 0;"},
    // What operators list by; and what the rentals of each day say of a machine, with which of them
    // were counted into it.
    {.feature = "rentals",
     .number = 10,
     .sql = "CREATE INDEX jobs_by_state ON jobs (state, job_id);"
            "CREATE INDEX jobs_by_host ON jobs (host_id, job_id);"
            "CREATE TABLE rental_days ("
            "  machine_id @id NOT NULL,"
            "  day @int NOT NULL,"
            "  rated_jobs @int NOT NULL,"
            "  faulted_jobs @int NOT NULL,"
            "  interrupted_runs @int NOT NULL,"
            "  uninterrupted_runs @int NOT NULL,"
            "  PRIMARY KEY (machine_id, day)"
            ") @strict;"
            "CREATE INDEX rental_days_by_day ON rental_days (day);"
            "ALTER TABLE jobs ADD COLUMN is_counted @int NOT NULL DEFAULT 0;"
            "CREATE INDEX jobs_uncounted ON jobs (machine_id)"
            "  WHERE is_counted = 0 AND meter_started_at IS NOT NULL AND ended_at IS NOT NULL;"},
    // Whoever runs a thousand jobs that pay is not made to count them at each reservation.
    {.feature = "rentals",
     .number = 11,
     .sql = "ALTER TABLE jobs ADD COLUMN is_paid @int NOT NULL DEFAULT 0;"
            "UPDATE jobs SET is_paid = 1 WHERE accepted_ms >= 300000;"
            "DROP INDEX jobs_holding;"
            "CREATE INDEX jobs_holding ON jobs (renter_id)"
            "  WHERE is_paid = 0 AND state <> 'CLOSED'"
            "  AND (state <> 'FAILED' OR clean_sent_at IS NOT NULL);"},
    // After how long what a job earns can be paid out.
    {.feature = "rentals",
     .number = 12,
     .sql = "ALTER TABLE quotes ADD COLUMN payout_delay_hours @int NOT NULL DEFAULT 0;"},
    // What a job may send at full speed, and what it has sent, null of jobs from before; and why
    // the host could not clean up after it.
    {.feature = "rentals",
     .number = 13,
     .sql = "ALTER TABLE jobs ADD COLUMN included_egress_gib @int;"
            "ALTER TABLE jobs ADD COLUMN egress_bytes @int;"
            "ALTER TABLE jobs ADD COLUMN clean_error @text;"},
    // Which templates the rules of a host's owner refused lately, to whom and for how long.
    {.feature = "rentals",
     .number = 14,
     .sql = "CREATE TABLE policy_refusals ("
            "  machine_id @id NOT NULL,"
            "  template_id @id NOT NULL,"
            "  renter_id @id NOT NULL,"
            "  duration_limit_s @int NOT NULL,"
            "  refused_at @int NOT NULL,"
            "  PRIMARY KEY (machine_id, template_id, renter_id)"
            ") @strict;"},
    // What a renter was told of once.
    {.feature = "rentals",
     .number = 15,
     .sql = "ALTER TABLE jobs ADD COLUMN funds_low_at @int;"
            "ALTER TABLE jobs ADD COLUMN egress_low_at @int;"},
    // What was rented, null of jobs from before; and jobs with which something can still be done.
    {.feature = "rentals",
     .number = 16,
     .sql = "ALTER TABLE jobs ADD COLUMN gpu_model @text;"
            "ALTER TABLE jobs ADD COLUMN gpu_count @int;"
            "ALTER TABLE jobs ADD COLUMN vram_bytes @int;"
            "ALTER TABLE jobs ADD COLUMN continent @text;"
            "CREATE INDEX jobs_open ON jobs (renter_id, job_id) WHERE state IN"
            "  ('RESERVED', 'STARTING', 'READY', 'RUNNING', 'STOPPING', 'STOPPED');"},
    // How the job is reached, null of jobs from before, which are so directly; what its gate did
    // not carry; and when its meter stood for that.
    {.feature = "rentals",
     .number = 17,
     .sql = "ALTER TABLE jobs ADD COLUMN reach @text;"
            "ALTER TABLE jobs ADD COLUMN stood_ms @int NOT NULL DEFAULT 0"
            "  CHECK (stood_ms >= 0);"
            "ALTER TABLE jobs ADD COLUMN carriage_at @int;"
            "ALTER TABLE jobs ADD COLUMN uncarried_since @int;"
            "ALTER TABLE jobs ADD COLUMN stands_since @int;"
            "CREATE TABLE job_stands ("
            "  job_id @id NOT NULL,"
            "  from_at @int NOT NULL,"
            "  until_at @int NOT NULL,"
            "  PRIMARY KEY (job_id, from_at),"
            "  CHECK (until_at > from_at)"
            ") @strict;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::rentals
