// All SQL of the relay: what passed through it, counted by job.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "db/db.hpp"
#include "db/migrate.hpp"

namespace berth::relay {

struct UsageRow {
    JobId job_id;
    std::int64_t requests = 0;
    std::int64_t errors = 0;
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;
    std::int64_t prompt_reports = 0;  // requests whose engine counted them
    std::int64_t prompt_tokens = 0;
    std::int64_t completion_reports = 0;
    std::int64_t completion_tokens = 0;
    std::int64_t making_micros = 0;  // the time that the completion tokens took
};
BOOST_DESCRIBE_STRUCT(UsageRow, (),
                      (job_id, requests, errors, bytes_in, bytes_out, prompt_reports, prompt_tokens,
                       completion_reports, completion_tokens, making_micros))
// Adds to what the job has.
void add_usage(db::Transaction& tx, const UsageRow& more);
std::optional<UsageRow> find_usage(db::Transaction& tx, JobId job);

// How many streams of a job began after about this long; see counters.cpp for the steps.
struct FirstTokenRow {
    JobId job_id;
    std::int64_t step = 0;
    std::int64_t streams = 0;
};
BOOST_DESCRIBE_STRUCT(FirstTokenRow, (), (job_id, step, streams))
void add_first_tokens(db::Transaction& tx, const FirstTokenRow& more);
std::vector<FirstTokenRow> list_first_tokens(db::Transaction& tx, JobId job);  // by step

extern const std::span<const db::Migration> migrations;

}  // namespace berth::relay
