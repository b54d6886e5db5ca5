#include "ledger/ledger.hpp"

namespace berth::ledger {

namespace {

constexpr db::Migration history[] = {
    {.feature = "ledger",
     .number = 1,
     .sql =
         // One row per account and asset: running balances, lifetime totals, and the end of the
         // account's chain of hashes.
     "CREATE TABLE ledger_accounts ("
     "  account_id @id NOT NULL,"
     "  asset @text NOT NULL CHECK (asset IN ('USDC', 'USDT')),"
     "  available @int NOT NULL CHECK (available >= 0),"
     "  held @int NOT NULL CHECK (held >= 0),"
     "  payable @int NOT NULL,"
     "  escrow @int NOT NULL CHECK (escrow >= 0),"
     "  reserved @int NOT NULL CHECK (reserved >= 0),"
     "  earned @int NOT NULL,"
     "  fees @int NOT NULL,"
     "  paid @int NOT NULL CHECK (paid >= 0),"
     "  sequence @int NOT NULL,"
     "  head @bytes NOT NULL,"
     "  PRIMARY KEY (account_id, asset)"
     ") @strict;"

     // Append-only. account_id is the shard.
     "CREATE TABLE ledger_transactions ("
     "  transaction_id @id NOT NULL PRIMARY KEY,"
     "  account_id @id NOT NULL,"
     "  asset @text NOT NULL,"
     "  sequence @int NOT NULL,"
     "  movement @text NOT NULL,"
     "  reference @text NOT NULL UNIQUE,"
     "  at @int NOT NULL,"
     "  previous_hash @bytes NOT NULL,"
     "  hash @bytes NOT NULL,"
     "  UNIQUE (account_id, asset, sequence)"
     ") @strict;"

     // Append-only. Credits are above zero, debits below.
     "CREATE TABLE ledger_entries ("
     "  transaction_id @id NOT NULL,"
     "  ordinal @int NOT NULL,"
     "  owner_id @id NOT NULL,"
     "  asset @text NOT NULL,"
     "  pocket @text NOT NULL,"
     "  kind @text NOT NULL,"
     "  amount @int NOT NULL CHECK (amount <> 0),"
     "  party_id @id,"
     "  day @int,"
     "  job_id @id,"
     "  machine_id @id,"
     "  PRIMARY KEY (transaction_id, ordinal)"
     ") @strict;"
     "CREATE INDEX ledger_entries_by_owner"
     "  ON ledger_entries (owner_id, transaction_id, ordinal);"
     "CREATE INDEX ledger_entries_by_party"
     "  ON ledger_entries (party_id, asset, day) WHERE party_id IS NOT NULL;"
     "CREATE INDEX ledger_entries_by_job"
     "  ON ledger_entries (job_id, transaction_id, ordinal) WHERE job_id IS NOT NULL;"
     "CREATE INDEX ledger_entries_by_machine"
     "  ON ledger_entries (machine_id, day) WHERE machine_id IS NOT NULL;"

     // What is promised to a job, and what it took. The columns ending in _before hold the value
     // before the last change, because an UPDATE can return only what it wrote.
     "CREATE TABLE ledger_jobs ("
     "  job_id @id NOT NULL PRIMARY KEY,"
     "  renter_id @id NOT NULL,"
     "  host_id @id NOT NULL,"
     "  machine_id @id NOT NULL,"
     "  asset @text NOT NULL,"
     "  rate_per_hour @int NOT NULL CHECK (rate_per_hour >= 0),"
     "  fee_bps @int NOT NULL CHECK (fee_bps >= 0 AND fee_bps <= 10000),"
     "  budget @int NOT NULL,"
     "  runtime_ms @int NOT NULL,"
     "  charged @int NOT NULL CHECK (charged >= 0),"
     "  charged_before @int NOT NULL,"
     "  refunded @int NOT NULL CHECK (refunded >= 0),"
     "  refunded_before @int NOT NULL,"
     "  disputed @int NOT NULL CHECK (disputed >= 0),"
     "  closed @int NOT NULL,"
     "  CHECK (charged <= budget),"
     "  CHECK (refunded <= charged)"
     ") @strict;"
     "CREATE INDEX ledger_jobs_open ON ledger_jobs (renter_id, asset) WHERE closed = 0;"

     "CREATE TABLE ledger_disputes ("
     "  dispute_id @id NOT NULL PRIMARY KEY,"
     "  job_id @id NOT NULL,"
     "  host_id @id NOT NULL,"
     "  asset @text NOT NULL,"
     "  amount @int NOT NULL CHECK (amount > 0),"
     "  closed @int NOT NULL"
     ") @strict;"
     "CREATE INDEX ledger_disputes_open ON ledger_disputes (host_id, asset) WHERE closed = 0;"

     "CREATE TABLE ledger_transfers ("
     "  transfer_id @id NOT NULL PRIMARY KEY,"
     "  account_id @id NOT NULL,"
     "  asset @text NOT NULL,"
     "  amount @int NOT NULL CHECK (amount > 0),"
     "  source @text NOT NULL CHECK (source IN ('withdrawal', 'payout')),"
     "  state @text NOT NULL CHECK (state IN ('locked', 'settled', 'returned'))"
     ") @strict;"
     "CREATE INDEX ledger_transfers_open"
     "  ON ledger_transfers (account_id, asset) WHERE state = 'locked';",
     .formerly = 7},
    // An entry's place among those of its owner, for statements; and totals by day, of accounts and
    // of machines.
    {.feature = "ledger",
     .number = 2,
     .sql = "ALTER TABLE ledger_accounts ADD COLUMN entries @int NOT NULL DEFAULT 0;"
            "ALTER TABLE ledger_entries ADD COLUMN place @int CHECK (place > 0);"
            "UPDATE ledger_entries SET place = placed.place FROM (SELECT transaction_id, ordinal,"
            "  ROW_NUMBER() OVER (PARTITION BY owner_id, asset ORDER BY transaction_id, ordinal)"
            "  AS place FROM ledger_entries) AS placed"
            "  WHERE placed.transaction_id = ledger_entries.transaction_id"
            "  AND placed.ordinal = ledger_entries.ordinal"
            "  AND pocket IN ('available', 'held', 'payable', 'escrow', 'reserved');"
            "UPDATE ledger_accounts SET entries = (SELECT COUNT(*) FROM ledger_entries e"
            "  WHERE e.owner_id = ledger_accounts.account_id AND e.asset = ledger_accounts.asset"
            "  AND e.place IS NOT NULL);"
            "DROP INDEX ledger_entries_by_owner;"
            "CREATE UNIQUE INDEX ledger_entries_by_owner"
            "  ON ledger_entries (owner_id, asset, place) WHERE place IS NOT NULL;"

            "CREATE TABLE ledger_days ("
            "  subject_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  day @int NOT NULL,"
            "  kind @text NOT NULL,"
            "  amount @int NOT NULL,"
            "  jobs @int NOT NULL,"
            "  PRIMARY KEY (subject_id, asset, day, kind)"
            ") @strict;"
            "INSERT INTO ledger_days (subject_id, asset, day, kind, amount, jobs)"
            "  SELECT party_id, asset, day, kind, CAST(SUM(amount) AS BIGINT),"
            "  COUNT(DISTINCT CASE WHEN kind = 'host_earning' THEN job_id END) FROM ledger_entries"
            "  WHERE party_id IS NOT NULL GROUP BY party_id, asset, day, kind;"
            "INSERT INTO ledger_days (subject_id, asset, day, kind, amount, jobs)"
            "  SELECT machine_id, asset, day, kind, CAST(SUM(amount) AS BIGINT),"
            "  COUNT(DISTINCT CASE WHEN kind = 'host_earning' THEN job_id END) FROM ledger_entries"
            "  WHERE machine_id IS NOT NULL AND kind IN ('host_earning', 'refund_host_reversal',"
            "  'platform_fee', 'refund_fee_reversal') GROUP BY machine_id, asset, day, kind;"
            "ALTER TABLE ledger_jobs ADD COLUMN earned_day @int NOT NULL DEFAULT 0;"
            "ALTER TABLE ledger_jobs ADD COLUMN earned_day_before @int NOT NULL DEFAULT 0;"
            "UPDATE ledger_jobs SET earned_day = COALESCE((SELECT MAX(e.day) FROM ledger_entries e"
            "  WHERE e.job_id = ledger_jobs.job_id AND e.kind = 'host_earning'), 0);"
            "DROP INDEX ledger_entries_by_party;"
            "DROP INDEX ledger_entries_by_machine;"
            "CREATE INDEX ledger_entries_by_machine"
            "  ON ledger_entries (machine_id, day) WHERE kind = 'host_earning';"},
    // When earnings may be paid out; what made good a payable below zero; and the few entries of
    // the operator's own money, which have no balance row, so that they can be added up.
    {.feature = "ledger",
     .number = 3,
     .sql = "ALTER TABLE ledger_accounts ADD COLUMN repaid @int NOT NULL DEFAULT 0;"
            "ALTER TABLE ledger_jobs ADD COLUMN payout_delay_hours @int NOT NULL DEFAULT 0;"
            "CREATE TABLE ledger_maturing ("
            "  transaction_id @id NOT NULL PRIMARY KEY,"
            "  host_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  job_id @id NOT NULL,"
            "  amount @int NOT NULL CHECK (amount > 0),"
            "  matures_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX ledger_maturing_by_host"
            "  ON ledger_maturing (host_id, asset, matures_at);"
            "CREATE INDEX ledger_entries_own ON ledger_entries (asset, pocket, amount)"
            "  WHERE kind IN ('gas', 'fee_take_out', 'top_up', 'debt_covered');"},
    // What of a job's budget a promotional credit pays; and the operator's own money less what is
    // set aside for such credits.
    {.feature = "ledger",
     .number = 4,
     .sql = "ALTER TABLE ledger_jobs ADD COLUMN credit @int NOT NULL DEFAULT 0"
            "  CHECK (credit >= 0);"
            "DROP INDEX ledger_entries_own;"
            "CREATE INDEX ledger_entries_own ON ledger_entries (asset, pocket, amount)"
            "  WHERE kind IN ('gas', 'fee_take_out', 'top_up', 'debt_covered', 'campaign_fund',"
            "  'campaign_end');"},
    // The few jobs that a credit paid for, which every proof looks at.
    {.feature = "ledger",
     .number = 5,
     .sql = "CREATE INDEX ledger_jobs_on_credit ON ledger_jobs (job_id) WHERE credit > 0;"},
    // The few jobs of which something was refunded.
    {.feature = "ledger",
     .number = 6,
     .sql = "CREATE INDEX ledger_jobs_refunded ON ledger_jobs (job_id) WHERE refunded > 0;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::ledger
