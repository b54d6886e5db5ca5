// All SQL of quotes, jobs and their evidence. Money itself moves in the ledger.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <span>
#include <vector>

#include "agent_protocol/reach.hpp"
#include "db/db.hpp"
#include "rentals/meter.hpp"
#include "rentals/service_life.hpp"
#include "rentals/types.hpp"

namespace berth::rentals {

// Quotes

struct QuoteRow {
    QuoteId quote_id;
    AccountId renter_id;
    std::optional<Uuid> key_id = {};  // of the API key that asked
    OfferId offer_id;
    std::int64_t offer_version = 0;
    MachineId machine_id;
    AccountId host_id;
    Asset asset = Asset::usdc;
    Micro rate;  // per hour
    std::int64_t fee_bps = 0;
    std::int64_t payout_delay_hours = 0;
    Micro budget;
    std::int64_t duration_limit_s = 0;
    Time available_until;
    AvailabilityClass availability_class{};
    std::optional<std::int64_t> preemption_notice_s = {};
    std::optional<TemplateId> template_id = {};  // none: a renter's own image
    std::string image_digest;
    Time created_at;
    Time expires_at;
    std::optional<JobId> job_id = {};  // the one that it was used for
    std::int64_t included_disk_gib = 0;
    std::int64_t included_egress_gib = 0;
};
BOOST_DESCRIBE_STRUCT(QuoteRow, (),
                      (quote_id, renter_id, key_id, offer_id, offer_version, machine_id, host_id,
                       asset, rate, fee_bps, payout_delay_hours, budget, duration_limit_s,
                       available_until, availability_class, preemption_notice_s, template_id,
                       image_digest, created_at, expires_at, job_id, included_disk_gib,
                       included_egress_gib))
void add_quote(db::Transaction& tx, const QuoteRow& quote);
std::optional<QuoteRow> find_quote(db::Transaction& tx, QuoteId id);
// Uses the quote up for this job; false when it was used before.
bool spend_quote(db::Transaction& tx, QuoteId id, JobId job);
// Deletes quotes that ended before this and became no job.
std::int64_t prune_quotes(db::Transaction& tx, Time before, std::int64_t rows_max);

// Jobs

// What never changes.
struct JobTerms {
    JobId job_id;
    AccountId renter_id;
    AccountId host_id;
    MachineId machine_id;
    std::optional<Uuid> key_id = {};
    QuoteId quote_id;
    OfferId offer_id;
    std::int64_t offer_version = 0;
    std::optional<TemplateId> template_id = {};
    std::optional<std::string> template_slug = {};
    std::optional<std::string> template_name = {};
    std::optional<TemplateKind> template_kind = {};
    std::string image_digest;
    AvailabilityClass availability_class{};
    std::optional<std::int64_t> preemption_notice_s = {};
    Asset asset = Asset::usdc;
    Micro rate;
    std::int64_t fee_bps = 0;
    std::int64_t duration_limit_s = 0;
    Time available_until;
    std::int64_t start_deadline_s = 0;
    std::int64_t retrieval_min_s = 0;
    std::optional<std::string> readiness_path = {};
    std::string exposes = "[]";  // JSON, as its template had it
    bool has_ssh = false;
    std::optional<std::int64_t> included_egress_gib = {};
    std::int64_t fence = 0;    // of the machine, for this job
    std::string endpoint_key;  // sealed, in base64
    Time created_at;
    // Of the machine when it was rented
    std::optional<std::string> gpu_model = {};
    std::optional<std::int64_t> gpu_count = {};
    std::optional<std::int64_t> vram_bytes = {};
    std::optional<machines::Continent> continent = {};
    std::optional<agent_protocol::Reach> reach = {};  // none: directly

    bool is_by_gate() const { return reach == agent_protocol::Reach::gate; }
};
BOOST_DESCRIBE_STRUCT(JobTerms, (),
                      (job_id, renter_id, host_id, machine_id, key_id, quote_id, offer_id,
                       offer_version, template_id, template_slug, template_name, template_kind,
                       image_digest, availability_class, preemption_notice_s, asset, rate, fee_bps,
                       duration_limit_s, available_until, start_deadline_s, retrieval_min_s,
                       readiness_path, exposes, has_ssh, included_egress_gib, fence, endpoint_key,
                       created_at, gpu_model, gpu_count, vram_bytes, continent, reach))

// What does. One statement writes all of it.
struct JobLive {
    JobId job_id;
    JobState state = JobState::RESERVED;
    Micro budget;
    std::int64_t budget_version = 1;
    std::int64_t lease_seq = 0;
    std::optional<Time> lease_until = {};
    Time waiting_since;  // for what the state waits for: an answer, progress, STOPPED, CLEANED
    std::optional<Time> accepted_at = {};  // START
    std::int64_t pulled_bytes = 0;         // when the wait for more of the image began
    std::optional<Time> meter_started_at = {};
    std::optional<Time> meter_stopped_at = {};
    std::int64_t accepted_ms = 0;
    bool is_paid = false;  // billed for long enough to have paid for the trouble that it made
    std::int64_t reported_ms = 0;
    std::optional<Time> reported_at = {};
    std::int64_t carry_ms = 0;  // of our time until then, which no report has filled yet
    std::optional<Time> engine_down_at = {};
    std::optional<Time> gpu_lost_at = {};
    std::int64_t stood_ms = 0;                 // of our time; nobody was carried
    std::optional<Time> carriage_at = {};      // when that was looked at last
    std::optional<Time> uncarried_since = {};  // as it was then
    std::optional<Time> stands_since = {};     // likewise
    std::optional<Time> funds_low_at = {};     // when its renter was told, of this budget
    std::optional<Time> egress_low_at = {};    // likewise, of what it may send
    std::optional<Time> seen_at = {};          // its last heartbeat or event
    std::optional<std::string> boot_id = {};
    std::optional<std::string> container_id = {};
    std::optional<Time> notice_at = {};
    std::optional<Time> notice_until = {};
    std::optional<Time> ended_at = {};
    std::optional<EndReason> end_reason = {};
    std::optional<Time> unbilled_at = {};  // it ended for nothing, through no fault of the host
    std::optional<Time> retrieval_until = {};
    bool skip_retrieval = false;  // the renter has nothing to fetch
    std::optional<Time> clean_sent_at = {};
    std::optional<Time> cleaned_at = {};
    std::optional<Time> settled_at = {};  // the midnight up to which it is, or the end
    bool is_settled = false;              // the final one
    std::optional<Time> usage_kept_at = {};
    std::int64_t evidence_count = 0;
    std::optional<std::string> evidence_head = {};
    std::int64_t evidence_bytes = 0;
    std::optional<Time> deadline_at = {};  // when the worker looks at it next

    friend bool operator==(const JobLive&, const JobLive&) = default;
};
BOOST_DESCRIBE_STRUCT(JobLive, (),
                      (job_id, state, budget, budget_version, lease_seq, lease_until, waiting_since,
                       accepted_at, pulled_bytes, meter_started_at, meter_stopped_at, accepted_ms,
                       is_paid, reported_ms, reported_at, carry_ms, engine_down_at, gpu_lost_at,
                       stood_ms, carriage_at, uncarried_since, stands_since, funds_low_at,
                       egress_low_at, seen_at, boot_id, container_id, notice_at, notice_until,
                       ended_at, end_reason, unbilled_at, retrieval_until, skip_retrieval,
                       clean_sent_at, cleaned_at, settled_at, is_settled, usage_kept_at,
                       evidence_count, evidence_head, evidence_bytes, deadline_at))

// What only people read.
struct JobDetails {
    JobId job_id;
    std::optional<FailureCode> failure_code = {};
    std::optional<std::string> failure_message = {};
    std::optional<ProgressStep> progress_step = {};
    std::optional<std::int64_t> progress_done = {};
    std::optional<std::int64_t> progress_total = {};
    std::optional<std::int64_t> pull_ms = {};
    std::optional<std::int64_t> load_ms = {};
    std::optional<std::int64_t> probe_ms = {};
    std::optional<std::string> endpoints = {};  // JSON, as READY announced them
    std::optional<std::string> ssh_fingerprint = {};
    std::optional<std::string> log_tail = {};
    std::optional<Time> log_at = {};
    std::optional<std::int64_t> egress_bytes = {};
    std::optional<std::string> clean_error = {};
};
BOOST_DESCRIBE_STRUCT(JobDetails, (),
                      (job_id, failure_code, failure_message, progress_step, progress_done,
                       progress_total, pull_ms, load_ms, probe_ms, endpoints, ssh_fingerprint,
                       log_tail, log_at, egress_bytes, clean_error))

// What it takes to reach the model that a job serves.
struct ServiceRow {
    AccountId renter_id;
    JobState state = JobState::RESERVED;
    std::optional<TemplateKind> template_kind = {};
    std::optional<std::string> endpoints = {};
    std::string endpoint_key;
    std::optional<Time> meter_started_at = {};
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(ServiceRow, (),
                      (renter_id, state, template_kind, endpoints, endpoint_key, meter_started_at,
                       created_at))

struct JobRow {
    JobTerms terms;
    JobLive live;
};

void add_job(db::Transaction& tx, const JobRow& job);
std::optional<JobRow> find_job(db::Transaction& tx, JobId id);
// The same, and nobody else changes it before this transaction is over.
std::optional<JobRow> lock_job(db::Transaction& tx, JobId id);
void save_job(db::Transaction& tx, const JobLive& live);
// The same where it is known what is stored: what heartbeats change is written without the rest.
void save_changes(db::Transaction& tx, JobLive stored, const JobLive& live);
JobDetails find_details(db::Transaction& tx, JobId id);
void save_details(db::Transaction& tx, const JobDetails& details);
// What changes often is saved alone: whoever remembers where a job is served is not disturbed.
struct JobProgress {
    JobId job_id;
    std::optional<ProgressStep> progress_step = {};
    std::optional<std::int64_t> progress_done = {};
    std::optional<std::int64_t> progress_total = {};
};
BOOST_DESCRIBE_STRUCT(JobProgress, (), (job_id, progress_step, progress_done, progress_total))
void save_progress(db::Transaction& tx, const JobProgress& progress);
void save_log(db::Transaction& tx, JobId job, const std::string& tail, Time now);
// It never falls: a guard that was put up anew counts from nothing.
void save_egress(db::Transaction& tx, JobId job, std::int64_t bytes);
void save_clean_error(db::Transaction& tx, JobId job, const std::optional<std::string>& why);
std::optional<ServiceRow> find_service(db::Transaction& tx, JobId id);
// For each of them whether it is RUNNING.
std::vector<bool> find_running(db::Transaction& tx, const std::vector<JobId>& jobs);

// When the meter of a job stood. What follows a stand at once makes it longer.
void add_stand(db::Transaction& tx, JobId job, const Stand& stand);
// Those that ended after this, in order.
std::vector<Stand> list_stands(db::Transaction& tx, JobId job, Time after);

// The sealed keys of jobs, by their ids, from after this one.
struct SealedKey {
    JobId job_id;
    std::string endpoint_key;
};
BOOST_DESCRIBE_STRUCT(SealedKey, (), (job_id, endpoint_key))
std::vector<SealedKey> list_sealed_keys(db::Transaction& tx, JobId after, std::int64_t rows_max);
void set_sealed_key(db::Transaction& tx, JobId id, std::string_view key);

// What starts of a template took, newest first.
struct StartRow {
    std::int64_t pull_ms = 0;
    std::int64_t load_ms = 0;
    std::int64_t probe_ms = 0;
};
BOOST_DESCRIBE_STRUCT(StartRow, (), (pull_ms, load_ms, probe_ms))
std::vector<StartRow> list_starts(db::Transaction& tx, TemplateId id, Time since,
                                  std::int64_t rows_max);
// Whether another machine came to READY with the same template and image since then.
bool ran_elsewhere(db::Transaction& tx, const JobTerms& terms, Time since);

// What rules of a host's owner refused is not tried again for a while: by the same renter not at
// all, by others not for as long or longer. The duration is the one thing that a renter chooses and
// rules judge beside the template: whoever asks for too long a one takes nothing from the others.
inline constexpr Duration policy_refusal_holds = std::chrono::hours(6);
void note_policy_refusal(db::Transaction& tx, const JobTerms& terms, Time now);
bool is_refused_by_policy(db::Transaction& tx, const QuoteRow& quote, Time now);

// Newest first, from before this one.
std::vector<JobRow> list_jobs(db::Transaction& tx, AccountId renter,
                              const std::optional<JobId>& before, std::int64_t rows_max);
// The same, of these states alone, of which there is at least one; without a renter of everybody.
std::vector<JobRow> list_jobs_in(db::Transaction& tx, std::span<const JobState> states,
                                 const std::optional<AccountId>& renter,
                                 const std::optional<JobId>& before, std::int64_t rows_max);
struct JobFilter {
    std::optional<JobState> state = {};
    std::optional<AccountId> renter = {};
    std::optional<AccountId> host = {};
    std::optional<MachineId> machine = {};
};
std::vector<JobRow> list_jobs_like(db::Transaction& tx, const JobFilter& filter,
                                   const std::optional<JobId>& before, std::int64_t rows_max);
std::vector<JobRow> list_machine_jobs(db::Transaction& tx, MachineId machine,
                                      std::int64_t rows_max);
// Jobs that the worker has to look at, the longest overdue first; the first `skip` are left out.
std::vector<JobRow> find_due(db::Transaction& tx, Time now, std::int64_t rows_max,
                             std::int64_t skip = 0);
// When to look at a job next, provided that nothing happened to it since it was read.
struct PutBack {
    JobId job_id;
    Time deadline_at;
    Time was_due_at;
    std::int64_t evidence_count = 0;  // everything that happens to a job is on record
};
void put_back(db::Transaction& tx, std::span<const PutBack> jobs);
// Jobs of a renter whose machine is not free again and that have not paid for it.
std::int64_t count_holding(db::Transaction& tx, AccountId renter);
// Those that ended since then without having been billed, through no fault of the host, and those
// that still may.
std::int64_t count_unbilled(db::Transaction& tx, AccountId renter, Time since);

// Jobs that a machine was found to hold and that are not in the books.
struct StrayRow {
    MachineId machine_id;
    JobId job_id;
    Time seen_at;
    std::optional<Time> cleaned_at = {};
};
BOOST_DESCRIBE_STRUCT(StrayRow, (), (machine_id, job_id, seen_at, cleaned_at))
// One that was cleaned before is there again.
void add_stray(db::Transaction& tx, MachineId machine, JobId job, Time now);
std::optional<StrayRow> find_stray(db::Transaction& tx, MachineId machine, JobId job);
// Those that were not cleaned yet.
std::vector<JobId> list_strays(db::Transaction& tx, MachineId machine, std::int64_t rows_max);
void note_stray_cleaned(db::Transaction& tx, MachineId machine, JobId job, Time now);
std::int64_t prune_strays(db::Transaction& tx, Time cleaned_before, std::int64_t rows_max);

// Evidence

struct EvidenceRow {
    JobId job_id;
    std::int64_t sequence = 0;  // 1, 2, 3 without gaps
    Time at;
    std::string kind;
    EvidenceSource source = EvidenceSource::machine;
    std::string payload;                   // canonical JSON; empty: it is in the body
    std::optional<std::string> body = {};  // base64 of the bytes as they were sent
    std::optional<std::string> signature_input = {};
    std::optional<std::string> signature = {};
    std::optional<std::string> authority = {};
    std::optional<std::string> path = {};
    std::optional<std::string> public_key = {};
    std::optional<std::int64_t> lease_seq = {};
    std::optional<std::string> content_hash = {};  // by which a resend is known
    std::optional<std::string> answer = {};        // what the first was answered
    std::string hash;
    std::optional<std::string> previous_hash = {};
};
BOOST_DESCRIBE_STRUCT(EvidenceRow, (),
                      (job_id, sequence, at, kind, source, payload, body, signature_input,
                       signature, authority, path, public_key, lease_seq, content_hash, answer,
                       hash, previous_hash))
void add_evidence(db::Transaction& tx, const EvidenceRow& row);
std::vector<EvidenceRow> list_evidence(db::Transaction& tx, JobId job, std::int64_t after,
                                       std::int64_t rows_max);
std::optional<EvidenceRow> find_resent(db::Transaction& tx, JobId job,
                                       std::string_view content_hash);
// Whether an event of this kind came under this lease.
// The payload of the newest record of a kind that was told under a lease.
std::optional<std::string> find_last_evidence(db::Transaction& tx, JobId job,
                                              std::string_view kind);
bool has_evidence(db::Transaction& tx, JobId job, std::string_view kind, std::int64_t lease_seq);
// Deletes up to so many records of jobs that ended before; how many.
std::int64_t prune_evidence(db::Transaction& tx, Time ended_before, std::int64_t rows_max);

}  // namespace berth::rentals
