#include "rentals/store.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "gates/gates.hpp"

namespace berth::rentals {
namespace {

const db::Query<QuoteRow> add_quote_sql("INSERT INTO quotes ({}) VALUES ({$})");
const db::Query<QuoteRow> find_quote_sql("SELECT {} FROM quotes WHERE quote_id = $1");
constexpr std::string_view spend_quote_sql =
    "UPDATE quotes SET job_id = $2 WHERE quote_id = $1 AND job_id IS NULL";
constexpr std::string_view prune_quotes_sql =
    "DELETE FROM quotes WHERE quote_id IN (SELECT quote_id FROM quotes "
    "WHERE expires_at < $1 AND job_id IS NULL ORDER BY expires_at LIMIT $2)";

// A row is made of its terms alone first; what changes is written over it at once.
const db::Query<JobTerms> add_terms_sql(
    "INSERT INTO jobs ({}, state, budget, budget_version, lease_seq, waiting_since, accepted_ms, "
    "reported_ms, is_settled, evidence_count) "
    "VALUES ({$}, 'RESERVED', 0, 1, 0, 0, 0, 0, 0, 0)");
const db::Query<JobTerms> find_terms_sql("SELECT {} FROM jobs WHERE job_id = $1");
const db::Query<JobLive> find_live_sql("SELECT {} FROM jobs WHERE job_id = $1");
// Changing the row is what keeps others out, on either engine; no index has this column.
const db::Query<JobLive> lock_live_sql(
    "UPDATE jobs SET lease_seq = lease_seq WHERE job_id = $1 RETURNING {}");
const db::Query<JobLive> save_live_sql("UPDATE jobs SET {=} WHERE job_id = $1");
const db::Query<JobDetails> find_story_sql("SELECT {} FROM jobs WHERE job_id = $1");
constexpr std::string_view find_running_sql =
    "SELECT job_id FROM jobs WHERE job_id = $1 AND state = 'RUNNING'";
const db::Query<ServiceRow> find_service_sql("SELECT {} FROM jobs WHERE job_id = $1");
const db::Query<JobDetails> save_story_sql("UPDATE jobs SET {=} WHERE job_id = $1");
const db::Query<JobProgress> save_progress_sql("UPDATE jobs SET {=} WHERE job_id = $1");
constexpr std::string_view save_log_sql =
    "UPDATE jobs SET log_tail = $2, log_at = $3 WHERE job_id = $1";
constexpr std::string_view save_clean_error_sql =
    "UPDATE jobs SET clean_error = $2 WHERE job_id = $1";
constexpr std::string_view save_egress_sql =
    "UPDATE jobs SET egress_bytes = $2 WHERE job_id = $1 "
    "AND (egress_bytes IS NULL OR egress_bytes < $2)";

const db::Query<SealedKey> list_sealed_keys_sql(
    "SELECT {} FROM jobs WHERE job_id > $1 ORDER BY job_id LIMIT $2");
constexpr std::string_view set_sealed_key_sql =
    "UPDATE jobs SET endpoint_key = $2 WHERE job_id = $1";
const db::Query<StartRow> list_starts_sql(
    "SELECT {} FROM jobs WHERE template_id = $1 AND meter_started_at >= $2 AND pull_ms IS NOT NULL "
    "ORDER BY meter_started_at DESC LIMIT $3");
constexpr std::string_view ran_elsewhere_sql =
    "SELECT job_id FROM jobs WHERE template_id = $1 AND meter_started_at >= $2 "
    "AND pull_ms IS NOT NULL AND image_digest = $3 AND machine_id <> $4 LIMIT 1";
constexpr std::string_view forget_policy_refusals_sql =
    "DELETE FROM policy_refusals WHERE machine_id = $1 AND refused_at <= $2";
constexpr std::string_view note_policy_refusal_sql =
    "INSERT INTO policy_refusals (machine_id, template_id, renter_id, duration_limit_s, "
    "refused_at) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (machine_id, template_id, renter_id) DO UPDATE SET "
    "duration_limit_s = excluded.duration_limit_s, refused_at = excluded.refused_at";
constexpr std::string_view find_policy_refusal_sql =
    "SELECT refused_at FROM policy_refusals WHERE machine_id = $1 AND template_id = $2 "
    "AND refused_at > $3 AND (renter_id = $4 OR duration_limit_s <= $5) LIMIT 1";
constexpr std::string_view due_ending =
    " FROM jobs WHERE deadline_at <= $1 ORDER BY deadline_at LIMIT $2 OFFSET $3";
const db::Query<JobLive> find_due_live_sql(fmt::format("SELECT {{}}{}", due_ending));
const db::Query<JobTerms> find_due_terms_sql(fmt::format("SELECT {{}}{}", due_ending));
constexpr std::size_t put_back_columns = 4;
// A machine is free again when the job is closed, or failed and was cleaned or put aside.
constexpr std::string_view count_holding_sql =
    "SELECT COUNT(*) FROM jobs WHERE renter_id = $1 AND is_paid = 0 AND state <> 'CLOSED' "
    "AND (state <> 'FAILED' OR clean_sent_at IS NOT NULL)";
constexpr std::string_view count_unbilled_sql =
    "SELECT COUNT(*) FROM jobs WHERE renter_id = $1 AND unbilled_at > $2";
const std::string count_unbilled_yet_sql =
    fmt::format("{} AND accepted_ms = 0 AND ended_at IS NULL", count_holding_sql);

// What a heartbeat of a running job changes; no index has it.
struct HeartbeatColumns {
    JobId job_id;
    std::int64_t lease_seq = 0;
    std::optional<Time> lease_until = {};
    std::int64_t accepted_ms = 0;
    std::int64_t reported_ms = 0;
    std::optional<Time> reported_at = {};
    std::int64_t carry_ms = 0;
    std::int64_t stood_ms = 0;
    std::optional<Time> carriage_at = {};
    std::optional<Time> seen_at = {};
    std::optional<Time> usage_kept_at = {};
    std::int64_t evidence_count = 0;
    std::optional<std::string> evidence_head = {};
    std::int64_t evidence_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(HeartbeatColumns, (),
                      (job_id, lease_seq, lease_until, accepted_ms, reported_ms, reported_at,
                       carry_ms, stood_ms, carriage_at, seen_at, usage_kept_at, evidence_count,
                       evidence_head, evidence_bytes))
const db::Query<HeartbeatColumns> save_heartbeat_sql("UPDATE jobs SET {=} WHERE job_id = $1");

struct StandRow {
    Time from_at;
    Time until_at;
};
BOOST_DESCRIBE_STRUCT(StandRow, (), (from_at, until_at))
constexpr std::string_view prolong_stand_sql =
    "UPDATE job_stands SET until_at = $3 WHERE job_id = $1 AND until_at = $2";
constexpr std::string_view add_stand_sql =
    "INSERT INTO job_stands (job_id, from_at, until_at) VALUES ($1, $2, $3)";
const db::Query<StandRow> list_stands_sql(
    "SELECT {} FROM job_stands WHERE job_id = $1 AND until_at > $2 ORDER BY from_at");

struct LifeRow {
    Time up_since;
    Time alive_at;
};
BOOST_DESCRIBE_STRUCT(LifeRow, (), (up_since, alive_at))
constexpr std::string_view begin_listening_sql =
    "INSERT INTO service_life (one, up_since, alive_at) VALUES (1, $1, $1) "
    "ON CONFLICT (one) DO NOTHING";
constexpr std::string_view note_listening_sql =
    "UPDATE service_life SET up_since = CASE WHEN alive_at < $2 THEN $1 ELSE up_since END, "
    "alive_at = CASE WHEN alive_at < $1 THEN $1 ELSE alive_at END WHERE one = 1";
const db::Query<LifeRow> find_life_sql("SELECT {} FROM service_life WHERE one = 1");

constexpr std::string_view add_stray_sql =
    "INSERT INTO stray_jobs (machine_id, job_id, seen_at) VALUES ($1, $2, $3) "
    "ON CONFLICT (machine_id, job_id) DO UPDATE SET cleaned_at = NULL";
const db::Query<StrayRow> find_stray_sql(
    "SELECT {} FROM stray_jobs WHERE machine_id = $1 AND job_id = $2");
constexpr std::string_view list_strays_sql =
    "SELECT job_id FROM stray_jobs WHERE machine_id = $1 AND cleaned_at IS NULL "
    "ORDER BY job_id LIMIT $2";
constexpr std::string_view note_stray_cleaned_sql =
    "UPDATE stray_jobs SET cleaned_at = $3 WHERE machine_id = $1 AND job_id = $2";
constexpr std::string_view prune_strays_sql =
    "DELETE FROM stray_jobs WHERE job_id IN (SELECT job_id FROM stray_jobs "
    "WHERE cleaned_at < $1 ORDER BY cleaned_at LIMIT $2) AND cleaned_at < $1";

const db::Query<EvidenceRow> add_evidence_sql("INSERT INTO job_evidence ({}) VALUES ({$})");
const db::Query<EvidenceRow> list_evidence_sql(
    "SELECT {} FROM job_evidence WHERE job_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3");
const db::Query<EvidenceRow> find_resent_sql(
    "SELECT {} FROM job_evidence WHERE job_id = $1 AND content_hash = $2 "
    "ORDER BY sequence LIMIT 1");
constexpr std::string_view has_evidence_sql =
    "SELECT COUNT(*) FROM job_evidence WHERE job_id = $1 AND kind = $2 AND lease_seq = $3";
constexpr std::string_view find_last_evidence_sql =
    "SELECT payload FROM job_evidence WHERE job_id = $1 AND kind = $2 AND lease_seq IS NOT NULL "
    "ORDER BY sequence DESC LIMIT 1";
constexpr std::string_view find_prunable_sql =
    "SELECT job_id FROM jobs WHERE ended_at < $1 AND evidence_count > 0 ORDER BY ended_at LIMIT $2";
constexpr std::string_view prune_evidence_sql =
    "DELETE FROM job_evidence WHERE (job_id, sequence) IN (SELECT job_id, sequence "
    "FROM job_evidence WHERE job_id = $1 ORDER BY sequence LIMIT $2)";
constexpr std::string_view forget_stands_sql = "DELETE FROM job_stands WHERE job_id = $1";
constexpr std::string_view forget_evidence_sql =
    "UPDATE jobs SET evidence_count = 0, evidence_bytes = 0 WHERE job_id = $1";

HeartbeatColumns heartbeat_columns_of(const JobLive& live) {
    return {live.job_id,        live.lease_seq,     live.lease_until,   live.accepted_ms,
            live.reported_ms,   live.reported_at,   live.carry_ms,      live.stood_ms,
            live.carriage_at,   live.seen_at,       live.usage_kept_at, live.evidence_count,
            live.evidence_head, live.evidence_bytes};
}

void set_heartbeat_columns(JobLive& live, const HeartbeatColumns& columns) {
    live.lease_seq = columns.lease_seq;
    live.lease_until = columns.lease_until;
    live.accepted_ms = columns.accepted_ms;
    live.reported_ms = columns.reported_ms;
    live.reported_at = columns.reported_at;
    live.carry_ms = columns.carry_ms;
    live.stood_ms = columns.stood_ms;
    live.carriage_at = columns.carriage_at;
    live.seen_at = columns.seen_at;
    live.usage_kept_at = columns.usage_kept_at;
    live.evidence_count = columns.evidence_count;
    live.evidence_head = columns.evidence_head;
    live.evidence_bytes = columns.evidence_bytes;
}

// Both engines call the columns of a list of values so.
std::string put_back_statement(std::size_t rows) {
    std::string values;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t first = row * put_back_columns + 1;
        values += fmt::format("{}(${}, ${}, ${}, ${})", row == 0 ? "" : ", ", first, first + 1,
                              first + 2, first + 3);
    }
    return fmt::format(
        "UPDATE jobs SET deadline_at = told.column2 FROM (VALUES {}) AS told "
        "WHERE jobs.job_id = told.column1 AND jobs.deadline_at = told.column3 "
        "AND jobs.evidence_count = told.column4",
        values);
}

// One statement for the first `Rows` of the rest.
template <std::size_t Rows>
void send_put_back(db::Transaction& tx, std::span<const PutBack>& rest) {
    static const std::string sql = put_back_statement(Rows);
    std::vector<db::Param> params;
    params.reserve(Rows * put_back_columns);
    for (const PutBack& job : rest.first(Rows)) {
        params.emplace_back(job.job_id);
        params.emplace_back(job.deadline_at);
        params.emplace_back(job.was_due_at);
        params.emplace_back(job.evidence_count);
    }
    [&]<std::size_t... Index>(std::index_sequence<Index...>) { tx.start(sql, params[Index]...); }
    (std::make_index_sequence<Rows * put_back_columns>{});
    rest = rest.subspan(Rows);
}

}  // namespace

void add_quote(db::Transaction& tx, const QuoteRow& quote) { tx.insert(add_quote_sql, quote); }

std::optional<QuoteRow> find_quote(db::Transaction& tx, QuoteId id) {
    return tx.fetch_one(find_quote_sql, id);
}

bool spend_quote(db::Transaction& tx, QuoteId id, JobId job) {
    return tx.run(spend_quote_sql, id, job).affected == 1;
}

std::int64_t prune_quotes(db::Transaction& tx, Time before, std::int64_t rows_max) {
    return tx.run(prune_quotes_sql, before, rows_max).affected;
}

void add_job(db::Transaction& tx, const JobRow& job) {
    tx.insert(add_terms_sql, job.terms);
    save_job(tx, job.live);
}

std::optional<JobRow> find_job(db::Transaction& tx, JobId id) {
    const auto terms = tx.start(find_terms_sql.sql(), id);
    auto live = tx.fetch_one(find_live_sql, id);
    auto found = find_terms_sql.row(tx.finish(terms));
    if (!live || !found) return std::nullopt;
    return JobRow{std::move(*found), std::move(*live)};
}

std::optional<JobRow> lock_job(db::Transaction& tx, JobId id) {
    auto live = tx.fetch_one(lock_live_sql, id);
    if (!live) return std::nullopt;
    auto terms = tx.fetch_one(find_terms_sql, id);
    require(terms.has_value(), "a locked job is there");
    return JobRow{std::move(*terms), std::move(*live)};
}

void save_job(db::Transaction& tx, const JobLive& live) {
    const auto saved = tx.insert(save_live_sql, live);
    require(saved.affected == 1, "a job that is saved is there");
}

void save_changes(db::Transaction& tx, JobLive stored, const JobLive& live) {
    const HeartbeatColumns columns = heartbeat_columns_of(live);
    set_heartbeat_columns(stored, columns);
    if (stored != live) return save_job(tx, live);
    const auto saved = tx.insert(save_heartbeat_sql, columns);
    require(saved.affected == 1, "a job that is saved is there");
}

JobDetails find_details(db::Transaction& tx, JobId id) {
    auto details = tx.fetch_one(find_story_sql, id);
    require(details.has_value(), "a job has details");
    return std::move(*details);
}

void save_details(db::Transaction& tx, const JobDetails& details) {
    tx.insert(save_story_sql, details);
}

void save_progress(db::Transaction& tx, const JobProgress& progress) {
    tx.insert(save_progress_sql, progress);
}

void save_log(db::Transaction& tx, JobId job, const std::string& tail, Time now) {
    tx.run(save_log_sql, job, tail, now);
}

void save_egress(db::Transaction& tx, JobId job, std::int64_t bytes) {
    tx.run(save_egress_sql, job, bytes);
}

void save_clean_error(db::Transaction& tx, JobId job, const std::optional<std::string>& why) {
    tx.run(save_clean_error_sql, job, why);
}

std::vector<StartRow> list_starts(db::Transaction& tx, TemplateId id, Time since,
                                  std::int64_t rows_max) {
    return tx.fetch(list_starts_sql, id, since, rows_max);
}

bool ran_elsewhere(db::Transaction& tx, const JobTerms& terms, Time since) {
    if (!terms.template_id) return false;
    return tx
        .fetch_value<JobId>(ran_elsewhere_sql, *terms.template_id, since, terms.image_digest,
                            terms.machine_id)
        .has_value();
}

void note_policy_refusal(db::Transaction& tx, const JobTerms& terms, Time now) {
    if (!terms.template_id) return;
    tx.run(forget_policy_refusals_sql, terms.machine_id, now - policy_refusal_holds);
    tx.run(note_policy_refusal_sql, terms.machine_id, *terms.template_id, terms.renter_id,
           terms.duration_limit_s, now);
}

bool is_refused_by_policy(db::Transaction& tx, const QuoteRow& quote, Time now) {
    if (!quote.template_id) return false;
    return tx
        .fetch_value<std::int64_t>(find_policy_refusal_sql, quote.machine_id, *quote.template_id,
                                   now - policy_refusal_holds, quote.renter_id,
                                   quote.duration_limit_s)
        .has_value();
}

std::vector<SealedKey> list_sealed_keys(db::Transaction& tx, JobId after, std::int64_t rows_max) {
    return tx.fetch(list_sealed_keys_sql, after, rows_max);
}

void set_sealed_key(db::Transaction& tx, JobId id, std::string_view key) {
    tx.run(set_sealed_key_sql, id, key);
}

std::optional<ServiceRow> find_service(db::Transaction& tx, JobId id) {
    return tx.fetch_one(find_service_sql, id);
}

void add_stand(db::Transaction& tx, JobId job, const Stand& stand) {
    if (tx.run(prolong_stand_sql, job, stand.from, stand.until).affected > 0) return;
    tx.run(add_stand_sql, job, stand.from, stand.until);
}

std::vector<Stand> list_stands(db::Transaction& tx, JobId job, Time after) {
    std::vector<Stand> stands;
    for (const StandRow& row : tx.fetch(list_stands_sql, job, after))
        stands.push_back({row.from_at, row.until_at});
    return stands;
}

std::vector<bool> find_running(db::Transaction& tx, const std::vector<JobId>& jobs) {
    constexpr std::size_t at_once = 64;  // in one round trip
    std::vector<bool> running;
    for (std::size_t from = 0; from < jobs.size(); from += at_once) {
        const std::size_t end = std::min(jobs.size(), from + at_once);
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = from; i < end; ++i)
            tickets.push_back(tx.start(find_running_sql, jobs[i]));
        for (const auto& ticket : tickets) running.push_back(!tx.finish(ticket).empty());
    }
    return running;
}

std::vector<JobRow> find_due(db::Transaction& tx, Time now, std::int64_t rows_max,
                             std::int64_t skip) {
    std::unordered_map<JobId, JobTerms> terms;
    for (JobTerms& each : tx.fetch(find_due_terms_sql, now, rows_max, skip)) {
        const JobId id = each.job_id;
        terms.emplace(id, std::move(each));
    }
    // What became due between the two statements comes with the next look.
    std::vector<JobRow> due;
    for (JobLive& each : tx.fetch(find_due_live_sql, now, rows_max, skip))
        if (const auto found = terms.find(each.job_id); found != terms.end())
            due.push_back({std::move(found->second), std::move(each)});
    return due;
}

void put_back(db::Transaction& tx, std::span<const PutBack> jobs) {
    while (jobs.size() >= 64) send_put_back<64>(tx, jobs);
    while (jobs.size() >= 8) send_put_back<8>(tx, jobs);
    while (!jobs.empty()) send_put_back<1>(tx, jobs);
}

std::int64_t count_holding(db::Transaction& tx, AccountId renter) {
    return tx.fetch_value<std::int64_t>(count_holding_sql, renter).value_or(0);
}

std::int64_t count_unbilled(db::Transaction& tx, AccountId renter, Time since) {
    return tx.fetch_value<std::int64_t>(count_unbilled_sql, renter, since).value_or(0) +
           tx.fetch_value<std::int64_t>(count_unbilled_yet_sql, renter).value_or(0);
}

void note_listening(db::Transaction& tx, Time now, Duration gap) {
    tx.run(begin_listening_sql, now);
    tx.run(note_listening_sql, now, now - gap);
    gates::note_listening(tx, now, gap);
}

Time heard_since(db::Transaction& tx, Time now, Duration gap) {
    const auto row = tx.fetch_one(find_life_sql);
    if (!row) return Time{};
    return now - row->alive_at > gap ? row->alive_at + gap : row->up_since;
}

Time up_since(db::Transaction& tx) {
    const auto row = tx.fetch_one(find_life_sql);
    return row ? row->up_since : Time{};
}

Time listening_since(db::Transaction& tx, Time now, Duration gap) {
    const auto row = tx.fetch_one(find_life_sql);
    return row && now - row->alive_at <= gap ? row->up_since : now;
}

void add_stray(db::Transaction& tx, MachineId machine, JobId job, Time now) {
    tx.run(add_stray_sql, machine, job, now);
}

std::optional<StrayRow> find_stray(db::Transaction& tx, MachineId machine, JobId job) {
    return tx.fetch_one(find_stray_sql, machine, job);
}

std::vector<JobId> list_strays(db::Transaction& tx, MachineId machine, std::int64_t rows_max) {
    return tx.fetch_values<JobId>(list_strays_sql, machine, rows_max);
}

void note_stray_cleaned(db::Transaction& tx, MachineId machine, JobId job, Time now) {
    tx.run(note_stray_cleaned_sql, machine, job, now);
}

std::int64_t prune_strays(db::Transaction& tx, Time cleaned_before, std::int64_t rows_max) {
    return tx.run(prune_strays_sql, cleaned_before, rows_max).affected;
}

void add_evidence(db::Transaction& tx, const EvidenceRow& row) { tx.insert(add_evidence_sql, row); }

std::vector<EvidenceRow> list_evidence(db::Transaction& tx, JobId job, std::int64_t after,
                                       std::int64_t rows_max) {
    return tx.fetch(list_evidence_sql, job, after, rows_max);
}

std::optional<EvidenceRow> find_resent(db::Transaction& tx, JobId job,
                                       std::string_view content_hash) {
    return tx.fetch_one(find_resent_sql, job, content_hash);
}

std::optional<std::string> find_last_evidence(db::Transaction& tx, JobId job,
                                              std::string_view kind) {
    return tx.fetch_value<std::string>(find_last_evidence_sql, job, kind);
}

bool has_evidence(db::Transaction& tx, JobId job, std::string_view kind, std::int64_t lease_seq) {
    return tx.fetch_value<std::int64_t>(has_evidence_sql, job, kind, lease_seq).value_or(0) > 0;
}

// A job is forgotten when its last record is gone, so that none is left that nobody looks for.
std::int64_t prune_evidence(db::Transaction& tx, Time ended_before, std::int64_t rows_max) {
    std::int64_t deleted = 0;
    for (const JobId& id : tx.fetch_values<JobId>(find_prunable_sql, ended_before, rows_max)) {
        if (!tx.fetch_one(lock_live_sql, id)) continue;
        const std::int64_t left = rows_max - deleted;
        const std::int64_t gone = tx.run(prune_evidence_sql, id, left).affected;
        deleted += gone;
        if (gone == left) break;  // there may be more of it
        tx.run(forget_stands_sql, id);
        tx.run(forget_evidence_sql, id);
    }
    return deleted;
}

}  // namespace berth::rentals
