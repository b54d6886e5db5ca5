#include "relay/store.hpp"

namespace berth::relay {
namespace {

constexpr db::Migration history[] = {
    {.feature = "relay",
     .number = 1,
     .sql = "CREATE TABLE relay_usage ("
            "  job_id @id PRIMARY KEY,"
            "  requests @int NOT NULL CHECK (requests >= 0),"
            "  errors @int NOT NULL CHECK (errors >= 0),"
            "  bytes_in @int NOT NULL CHECK (bytes_in >= 0),"
            "  bytes_out @int NOT NULL CHECK (bytes_out >= 0),"
            "  prompt_reports @int NOT NULL CHECK (prompt_reports >= 0),"
            "  prompt_tokens @int NOT NULL CHECK (prompt_tokens >= 0),"
            "  completion_reports @int NOT NULL CHECK (completion_reports >= 0),"
            "  completion_tokens @int NOT NULL CHECK (completion_tokens >= 0),"
            "  making_micros @int NOT NULL CHECK (making_micros >= 0)"
            ") @strict;"
            "CREATE TABLE relay_first_tokens ("
            "  job_id @id NOT NULL,"
            "  step @int NOT NULL,"
            "  streams @int NOT NULL CHECK (streams > 0),"
            "  PRIMARY KEY (job_id, step)"
            ") @strict;"},
};

const db::Query<UsageRow> add_usage_sql(
    "INSERT INTO relay_usage ({}) VALUES ({$}) ON CONFLICT (job_id) DO UPDATE SET "
    "requests = relay_usage.requests + excluded.requests, "
    "errors = relay_usage.errors + excluded.errors, "
    "bytes_in = relay_usage.bytes_in + excluded.bytes_in, "
    "bytes_out = relay_usage.bytes_out + excluded.bytes_out, "
    "prompt_reports = relay_usage.prompt_reports + excluded.prompt_reports, "
    "prompt_tokens = relay_usage.prompt_tokens + excluded.prompt_tokens, "
    "completion_reports = relay_usage.completion_reports + excluded.completion_reports, "
    "completion_tokens = relay_usage.completion_tokens + excluded.completion_tokens, "
    "making_micros = relay_usage.making_micros + excluded.making_micros");
const db::Query<UsageRow> find_usage_sql("SELECT {} FROM relay_usage WHERE job_id = $1");
const db::Query<FirstTokenRow> add_first_tokens_sql(
    "INSERT INTO relay_first_tokens ({}) VALUES ({$}) ON CONFLICT (job_id, step) DO UPDATE SET "
    "streams = relay_first_tokens.streams + excluded.streams");
const db::Query<FirstTokenRow> list_first_tokens_sql(
    "SELECT {} FROM relay_first_tokens WHERE job_id = $1 ORDER BY step");

}  // namespace

const std::span<const db::Migration> migrations = history;

void add_usage(db::Transaction& tx, const UsageRow& more) { tx.insert(add_usage_sql, more); }

std::optional<UsageRow> find_usage(db::Transaction& tx, JobId job) {
    return tx.fetch_one(find_usage_sql, job);
}

void add_first_tokens(db::Transaction& tx, const FirstTokenRow& more) {
    tx.insert(add_first_tokens_sql, more);
}

std::vector<FirstTokenRow> list_first_tokens(db::Transaction& tx, JobId job) {
    return tx.fetch(list_first_tokens_sql, job);
}

}  // namespace berth::relay
