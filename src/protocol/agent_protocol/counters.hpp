// What an agent must not forget: the highest fence it has seen, and for each job the highest
// lease_seq and budget_version. They guard against the past speaking (a command held back for an
// hour, a server restored from yesterday), so they only rise, and they are on disk before anything
// is done by them. An agent that has lost them (StateLost) must not go on: it would take the past
// for the present.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent_protocol/durable.hpp"
#include "agent_protocol/types.hpp"
#include "base/money.hpp"
#include "base/problem.hpp"

namespace berth::agent_protocol {

struct JobCounters {
    JobId job_id;
    std::int64_t lease_seq = 0;
    std::int64_t budget_version = 0;
    Micro budget_micro;
};

// By how much a fence may rise at once: more than any machine is rented between two words of its
// server, or since the oldest backup that one is restored from; and so little that nobody, by
// mistake or on purpose, can bring it to where the numbers end.
inline constexpr std::int64_t fence_step_max = 100'000;

class Counters {
public:
    static constexpr std::size_t jobs_kept_max = 64;

    // A file that is not there yet is made with the first change.
    explicit Counters(std::string path);

    std::int64_t fence() const { return fence_; }
    // The last that was too far above ours, until one is taken.
    std::optional<std::int64_t> refused_fence() const { return refused_fence_; }
    std::optional<JobCounters> job(JobId id) const;

    // Each gives nothing and has written the file when the number was taken, and the code by which
    // the agent refuses when it was not. A number equal to the one known is taken again.
    // STALE_FENCE; CONFLICT for one that is more than a step above ours.
    std::optional<Code> take_fence(std::int64_t fence);
    std::optional<Code> take_lease(JobId job, std::int64_t lease_seq);  // LEASE_SEQ_REPLAY
    // BUDGET_VERSION_OLDER; BUDGET_FUNDING_MISMATCH for a known version with another amount.
    std::optional<Code> take_budget(JobId job, std::int64_t version, Micro amount);
    void forget(JobId job);  // once it is cleaned

private:
    using Jobs = std::map<JobId, JobCounters>;

    JobCounters counters_of(JobId job) const;
    void take(const JobCounters& counters);
    void save(std::int64_t fence, const Jobs& jobs) const;

    const std::string path_;
    std::int64_t fence_ = 0;
    std::optional<std::int64_t> refused_fence_;
    Jobs jobs_;
};

// Gives the file this fence, higher or lower than the one it has; for its owner to say, who knows
// that the server's is the right one. What it says of jobs stays, where it can still be read.
void mend_fence(const std::string& path, std::int64_t fence);

}  // namespace berth::agent_protocol
