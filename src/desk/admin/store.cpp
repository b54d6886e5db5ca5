#include "admin/store.hpp"

#include "base/check.hpp"

namespace berth::admin {
namespace {

constexpr db::Migration history[] = {
    {.feature = "admin",
     .number = 1,
     .sql =
         // One row, which every command that ends an admin changes first.
     "CREATE TABLE admin_guard ("
     "  guard @int NOT NULL PRIMARY KEY CHECK (guard = 1),"
     "  taken @int NOT NULL"
     ") @strict;"
     "INSERT INTO admin_guard (guard, taken) VALUES (1, 0);"

     "CREATE TABLE disputes ("
     "  dispute_id @id NOT NULL PRIMARY KEY,"
     "  job_id @id NOT NULL,"
     "  asset @text NOT NULL,"
     "  amount @int NOT NULL CHECK (amount > 0),"
     "  held @int NOT NULL CHECK (held > 0),"
     "  state @text NOT NULL CHECK (state IN ('open', 'closed')),"
     "  reason @text NOT NULL,"
     "  evidence @text NOT NULL,"
     "  evidence_hash @text NOT NULL,"
     "  opened_by @id NOT NULL,"
     "  created_at @int NOT NULL,"
     "  outcome @text CHECK (outcome IN ('upheld', 'rejected')),"
     "  refund @int,"
     "  refund_id @id,"
     "  close_reason @text,"
     "  closed_by @id,"
     "  closed_at @int,"
     "  CHECK ((state = 'closed') = (outcome IS NOT NULL)),"
     "  CHECK (refund IS NULL OR (outcome = 'upheld' AND refund > 0 AND refund <= amount))"
     ") @strict;"
     "CREATE INDEX disputes_by_job ON disputes (job_id) WHERE state = 'open';"},
    // A dispute may find less than it is about, or nothing; and who bore a refund is kept.
    // (Constraints are not altered in place, so the table is written anew.)
    {.feature = "admin",
     .number = 2,
     .sql = "CREATE TABLE disputes_2 ("
            "  dispute_id @id NOT NULL PRIMARY KEY,"
            "  job_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  amount @int NOT NULL CHECK (amount > 0),"
            "  held @int NOT NULL CHECK (held >= 0),"
            "  unsecured @int NOT NULL CHECK (unsecured >= 0),"
            "  state @text NOT NULL CHECK (state IN ('open', 'closed')),"
            "  reason @text NOT NULL,"
            "  evidence @text NOT NULL,"
            "  evidence_hash @text NOT NULL,"
            "  opened_by @id NOT NULL,"
            "  created_at @int NOT NULL,"
            "  outcome @text CHECK (outcome IN ('upheld', 'rejected')),"
            "  refund @int,"
            "  refund_id @id,"
            "  shortfall @int,"
            "  bearer @text CHECK (bearer IN ('host_debt', 'platform')),"
            "  close_reason @text,"
            "  closed_by @id,"
            "  closed_at @int,"
            "  CHECK (held + unsecured > 0),"
            "  CHECK ((state = 'closed') = (outcome IS NOT NULL)),"
            "  CHECK (refund IS NULL OR (outcome = 'upheld' AND refund > 0 AND refund <= amount))"
            ") @strict;"
            "INSERT INTO disputes_2 (dispute_id, job_id, asset, amount, held, unsecured, state,"
            "  reason, evidence, evidence_hash, opened_by, created_at, outcome, refund, refund_id,"
            "  close_reason, closed_by, closed_at) SELECT dispute_id, job_id, asset, amount, held,"
            "  0, state, reason, evidence, evidence_hash, opened_by, created_at, outcome, refund,"
            "  refund_id, close_reason, closed_by, closed_at FROM disputes;"
            "DROP TABLE disputes;"
            "ALTER TABLE disputes_2 RENAME TO disputes;"
            "CREATE INDEX disputes_by_job ON disputes (job_id) WHERE state = 'open';"},
    // What operators tell each other of an account.
    {.feature = "admin",
     .number = 3,
     .sql = "CREATE TABLE account_notes ("
            "  note_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  text @text NOT NULL,"
            "  written_by @id NOT NULL,"
            "  created_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX account_notes_of ON account_notes (account_id, note_id);"},
    // Those of one job, open or not.
    {.feature = "admin",
     .number = 4,
     .sql = "CREATE INDEX disputes_of_job ON disputes (job_id, dispute_id);"},
};

constexpr std::string_view take_guard_sql = "UPDATE admin_guard SET taken = taken + 1";

const db::Query<DisputeRow> add_dispute_sql("INSERT INTO disputes ({}) VALUES ({$})");
const db::Query<DisputeRow> find_dispute_sql("SELECT {} FROM disputes WHERE dispute_id = $1");
const db::Query<DisputeRow> find_dispute_by_refund_sql(
    "SELECT {} FROM disputes WHERE job_id = $1 AND refund_id = $2");
const db::Query<DisputeRow> list_disputes_sql(
    "SELECT {d.} FROM disputes d JOIN ledger_jobs j ON j.job_id = d.job_id "
    "WHERE (d.dispute_id < $1 OR $1 IS NULL) AND (d.state = $2 OR $2 IS NULL) "
    "AND (d.job_id = $4 OR $4 IS NULL) AND (j.renter_id = $5 OR $5 IS NULL) "
    "AND (j.host_id = $6 OR $6 IS NULL) ORDER BY d.dispute_id DESC LIMIT $3");
constexpr std::string_view disputed_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM disputes "
    "WHERE job_id = $1 AND state = 'open'";
constexpr std::string_view close_dispute_sql =
    "UPDATE disputes SET state = 'closed', outcome = $2, refund = $3, refund_id = $4, "
    "close_reason = $5, closed_by = $6, closed_at = $7, shortfall = $8, bearer = $9 "
    "WHERE dispute_id = $1 AND state = 'open'";

}  // namespace

const std::span<const db::Migration> migrations = history;

void take_admin_guard(db::Transaction& tx) {
    require(tx.run(take_guard_sql).affected == 1, "the guard of admins is one row");
}

void add_dispute(db::Transaction& tx, const DisputeRow& dispute) {
    tx.insert(add_dispute_sql, dispute);
}

std::optional<DisputeRow> find_dispute(db::Transaction& tx, ledger::DisputeId id) {
    return tx.fetch_one(find_dispute_sql, id);
}

std::optional<DisputeRow> find_dispute_by_refund(db::Transaction& tx, JobId job,
                                                 ledger::RefundId refund) {
    return tx.fetch_one(find_dispute_by_refund_sql, job, refund);
}

std::vector<DisputeRow> list_disputes(db::Transaction& tx, const DisputesWanted& wanted,
                                      std::int64_t rows_max) {
    return tx.fetch(list_disputes_sql, wanted.before, wanted.state, rows_max, wanted.job,
                    wanted.renter, wanted.host);
}

Micro disputed_charge(db::Transaction& tx, JobId job) {
    return tx.fetch_value<Micro>(disputed_sql, job).value();
}

bool close_dispute(db::Transaction& tx, const DisputeRow& dispute) {
    return tx.run(close_dispute_sql, dispute.dispute_id, dispute.outcome, dispute.refund,
                  dispute.refund_id, dispute.close_reason, dispute.closed_by, dispute.closed_at,
                  dispute.shortfall, dispute.bearer)
               .affected == 1;
}

}  // namespace berth::admin
