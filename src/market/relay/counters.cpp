#include "relay/counters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.hpp"

namespace berth::relay {
namespace {

// Times are kept in steps of a sixteenth of a doubling: within five per cent, and never more than
// some three hundred of them.
constexpr double steps_per_doubling = 16;
constexpr std::int64_t step_max = 400;

std::int64_t step_of(Duration span) {
    const double ms = std::max(1.0, static_cast<double>(span.count()) / 1000);
    return std::min(step_max, static_cast<std::int64_t>(std::log2(ms) * steps_per_doubling));
}

std::int64_t ms_of(std::int64_t step) {
    return std::llround(std::exp2((static_cast<double>(step) + 0.5) / steps_per_doubling));
}

// The time within which this share of the streams began.
std::int64_t percentile(const std::vector<FirstTokenRow>& rows, std::int64_t per_cent) {
    std::int64_t all = 0;
    for (const FirstTokenRow& row : rows) all += row.streams;
    const std::int64_t wanted = (all * per_cent + 99) / 100;
    std::int64_t seen = 0;
    for (const FirstTokenRow& row : rows) {
        seen += row.streams;
        if (seen >= wanted) return ms_of(row.step);
    }
    return 0;
}

UsageRow row_of(JobId job, const Tally& tally) {
    UsageRow row{.job_id = job,
                 .requests = 1,
                 .errors = tally.failed ? 1 : 0,
                 .bytes_in = tally.bytes_in,
                 .bytes_out = tally.bytes_out};
    if (!tally.usage) return row;
    row.prompt_reports = tally.usage->prompt ? 1 : 0;
    row.prompt_tokens = tally.usage->prompt.value_or(0);
    row.completion_reports = tally.usage->completion ? 1 : 0;
    row.completion_tokens = tally.usage->completion.value_or(0);
    if (tally.usage->completion) row.making_micros = tally.making.count();
    return row;
}

JobUsage shown(JobId job, Time since, const UsageRow& row,
               const std::vector<FirstTokenRow>& first_tokens) {
    JobUsage out;
    out.job_id = job;
    out.since = since;
    out.requests = {row.requests};
    out.errors = {row.errors};
    out.bytes_in = {row.bytes_in};
    out.bytes_out = {row.bytes_out};
    if (row.prompt_reports > 0) out.prompt_tokens = wire::Count{row.prompt_tokens};
    if (row.completion_reports > 0) out.completion_tokens = wire::Count{row.completion_tokens};
    if (!first_tokens.empty())
        out.first_token_ms =
            FirstToken{{percentile(first_tokens, 50)}, {percentile(first_tokens, 95)}};
    if (row.completion_reports > 0 && row.making_micros > 0) {
        const double exact = static_cast<double>(row.completion_tokens) * 1e6 /
                             static_cast<double>(row.making_micros);
        out.tokens_per_s = std::round(exact * 100) / 100;
    }
    return out;
}

}  // namespace

void Counters::merge(Pending& into, const Pending& more) {
    into.usage.job_id = more.usage.job_id;
    into.usage.requests += more.usage.requests;
    into.usage.errors += more.usage.errors;
    into.usage.bytes_in += more.usage.bytes_in;
    into.usage.bytes_out += more.usage.bytes_out;
    into.usage.prompt_reports += more.usage.prompt_reports;
    into.usage.prompt_tokens += more.usage.prompt_tokens;
    into.usage.completion_reports += more.usage.completion_reports;
    into.usage.completion_tokens += more.usage.completion_tokens;
    into.usage.making_micros += more.usage.making_micros;
    for (const auto& [step, streams] : more.first_tokens) into.first_tokens[step] += streams;
}

void Counters::add(JobId job, const Tally& tally) {
    Pending one{row_of(job, tally), {}};
    if (tally.first_token) one.first_tokens[step_of(*tally.first_token)] = 1;
    const auto count = [](std::atomic<std::uint64_t>& total, std::int64_t more) {
        total.fetch_add(static_cast<std::uint64_t>(more), std::memory_order_relaxed);
    };
    count(totals_.requests, 1);
    count(totals_.errors, one.usage.errors);
    count(totals_.bytes_in, one.usage.bytes_in);
    count(totals_.bytes_out, one.usage.bytes_out);
    count(totals_.completion_tokens, one.usage.completion_tokens);

    const std::lock_guard lock(mutex_);
    if (pending_.size() < jobs_max || pending_.contains(job))
        merge(pending_[job], one);
    else if (const std::int64_t times = dropped_.note())
        log(Level::warn, "relay_usage_dropped", {{"times", times}});
}

void Counters::write(db::Database& database) {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !writing_; });
        if (pending_.empty()) return;
        in_flight_.swap(pending_);
        writing_ = true;
        ++writes_;
    }
    try {
        // Nobody changes what is in flight while it is.
        database.write([&](db::Transaction& tx) {
            for (const auto& [job, pending] : in_flight_) {
                add_usage(tx, pending.usage);
                for (const auto& [step, streams] : pending.first_tokens)
                    add_first_tokens(tx, {job, step, streams});
            }
        });
    } catch (const db::OutcomeUnknown&) {
        finish_write(false);  // counted or not; never twice
        throw;
    } catch (const std::exception&) {
        finish_write(true);
        throw;
    }
    finish_write(false);
}

void Counters::finish_write(bool keep) {
    const std::lock_guard lock(mutex_);
    if (keep)
        for (const auto& [job, pending] : in_flight_) merge(pending_[job], pending);
    in_flight_.clear();
    writing_ = false;
    changed_.notify_all();
}

Counters::Unwritten Counters::unwritten(JobId job) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, write_patience, [this] { return !writing_; });
    Unwritten out{{}, writes_};
    for (const ByJob* each : {&pending_, &in_flight_})
        if (const auto found = each->find(job); found != each->end())
            merge(out.counted, found->second);
    return out;
}

// Unless a write began meanwhile, nothing of it is in what was read after it.
bool Counters::is_told_once(const Unwritten& unwritten) {
    const std::lock_guard lock(mutex_);
    return unwritten.writes == writes_;
}

void Counters::start(db::Database& database) {
    const std::lock_guard lock(mutex_);
    database_ = &database;
    stopping_ = false;
    thread_ = std::thread([this] { run(); });
}

void Counters::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    if (database_ == nullptr) return;
    try_to_write();
    database_ = nullptr;
}

void Counters::run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, write_every, [this] { return stopping_; })) {
        lock.unlock();
        try_to_write();
        lock.lock();
    }
}

void Counters::try_to_write() {
    try {
        write(*database_);
    } catch (const std::exception& error) {
        log(Level::warn, "relay_usage_not_written", {{"why", error.what()}});
    }
}

JobUsage Counters::read(db::Database& database, JobId job, Time since) {
    constexpr int tries = 3;  // a write begins once a second
    UsageRow row;
    std::vector<FirstTokenRow> first_tokens;
    for (int i = 0; i < tries; ++i) {
        Unwritten fresh = unwritten(job);
        database.read([&](db::Transaction& tx) {
            row = find_usage(tx, job).value_or(UsageRow{});
            first_tokens = list_first_tokens(tx, job);
        });
        const bool once = is_told_once(fresh);
        for (const FirstTokenRow& each : first_tokens)
            fresh.counted.first_tokens[each.step] += each.streams;
        merge(fresh.counted, {row, {}});
        row = fresh.counted.usage;
        first_tokens.clear();
        for (const auto& [step, streams] : fresh.counted.first_tokens)
            first_tokens.push_back({job, step, streams});
        if (once) break;
    }
    return shown(job, since, row, first_tokens);
}

}  // namespace berth::relay
