// The agent's counters for several threads.
#pragma once

#include <mutex>

#include "agent_protocol/counters.hpp"

namespace berth::host_agent {

class SharedCounters {
public:
    explicit SharedCounters(std::string path) : counters_(std::move(path)) {}

    std::int64_t fence() const {
        const std::lock_guard lock(mutex_);
        return counters_.fence();
    }
    std::optional<std::int64_t> refused_fence() const {
        const std::lock_guard lock(mutex_);
        return counters_.refused_fence();
    }
    agent_protocol::JobCounters job(JobId id) const {
        const std::lock_guard lock(mutex_);
        return counters_.job(id).value_or(agent_protocol::JobCounters{id, 0, 0, {}});
    }
    std::optional<Code> take_fence(std::int64_t fence) {
        const std::lock_guard lock(mutex_);
        return counters_.take_fence(fence);
    }
    std::optional<Code> take_lease(JobId job, std::int64_t lease_seq) {
        const std::lock_guard lock(mutex_);
        return counters_.take_lease(job, lease_seq);
    }
    std::optional<Code> take_budget(JobId job, std::int64_t version, Micro amount) {
        const std::lock_guard lock(mutex_);
        return counters_.take_budget(job, version, amount);
    }
    void forget(JobId job) {
        const std::lock_guard lock(mutex_);
        counters_.forget(job);
    }

private:
    mutable std::mutex mutex_;
    agent_protocol::Counters counters_;
};

}  // namespace berth::host_agent
