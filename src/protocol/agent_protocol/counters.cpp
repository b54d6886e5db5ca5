#include "agent_protocol/counters.hpp"

#include <fmt/format.h>

#include "wire/open.hpp"
#include "wire/wire.hpp"

namespace berth::agent_protocol {
namespace {

struct StoredJob {
    JobId job_id;
    wire::Decimal lease_seq;
    wire::Decimal budget_version;
    Micro budget_micro;
};
BOOST_DESCRIBE_STRUCT(StoredJob, (), (job_id, lease_seq, budget_version, budget_micro))

struct Stored {
    wire::Constant<1> format;
    wire::Decimal fence;
    wire::List<StoredJob, 0, Counters::jobs_kept_max> jobs;
};
BOOST_DESCRIBE_STRUCT(Stored, (), (format, fence, jobs))

}  // namespace

Counters::Counters(std::string path) : path_(std::move(path)) {
    const auto text = read_durable(path_);
    if (!text) return;
    try {
        const auto stored = wire::decode<Stored>(*text, "file");
        fence_ = stored.fence.value;
        for (const StoredJob& job : stored.jobs.value)
            jobs_[job.job_id] = {job.job_id, job.lease_seq.value, job.budget_version.value,
                                 job.budget_micro};
    } catch (const Problem& problem) {
        throw StateLost(fmt::format("{}: {}", path_, problem.message));
    }
}

std::optional<JobCounters> Counters::job(JobId id) const {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Code> Counters::take_fence(std::int64_t fence) {
    if (fence < fence_) return Code::stale_fence;
    if (fence - fence_ > fence_step_max) {
        refused_fence_ = fence;
        return Code::conflict;
    }
    refused_fence_.reset();
    if (fence == fence_) return std::nullopt;
    save(fence, jobs_);
    fence_ = fence;
    return std::nullopt;
}

std::optional<Code> Counters::take_lease(JobId job, std::int64_t lease_seq) {
    JobCounters known = counters_of(job);
    if (lease_seq < known.lease_seq) return Code::lease_seq_replay;
    if (lease_seq == known.lease_seq) return std::nullopt;
    known.lease_seq = lease_seq;
    take(known);
    return std::nullopt;
}

std::optional<Code> Counters::take_budget(JobId job, std::int64_t version, Micro amount) {
    JobCounters known = counters_of(job);
    if (version < known.budget_version) return Code::budget_version_older;
    if (version == known.budget_version)
        return amount == known.budget_micro ? std::nullopt
                                            : std::optional(Code::budget_funding_mismatch);
    known.budget_version = version;
    known.budget_micro = amount;
    take(known);
    return std::nullopt;
}

// Of a job that is over nothing is believed any more, so that it is forgotten here even when the
// file cannot be written now.
void Counters::forget(JobId job) {
    if (jobs_.erase(job) != 0) save(fence_, jobs_);
}

JobCounters Counters::counters_of(JobId job) const {
    JobCounters known;
    known.job_id = job;
    return this->job(job).value_or(known);
}

void Counters::take(const JobCounters& counters) {
    if (!jobs_.contains(counters.job_id) && jobs_.size() == jobs_kept_max)
        throw StateLost(path_ + ": holds more jobs than an agent can have");
    Jobs jobs = jobs_;
    jobs[counters.job_id] = counters;
    save(fence_, jobs);
    jobs_ = std::move(jobs);
}

// Before the number is ours: what was not written must be written when it comes again.
void Counters::save(std::int64_t fence, const Jobs& jobs) const {
    Stored stored;
    stored.fence.value = fence;
    for (const auto& [id, job] : jobs)
        stored.jobs.value.push_back({id, {job.lease_seq}, {job.budget_version}, job.budget_micro});
    write_durably(path_, wire::encode(stored));
}

void mend_fence(const std::string& path, std::int64_t fence) {
    Stored stored;
    const auto text = read_durable(path);
    if (const auto known = text ? wire::read_known<Stored>(*text) : std::nullopt) stored = *known;
    stored.fence.value = fence;
    write_durably(path, wire::encode(stored));
}

}  // namespace berth::agent_protocol
