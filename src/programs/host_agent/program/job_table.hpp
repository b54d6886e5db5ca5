// The jobs of this machine. Safe to call from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "host_agent/job/job.hpp"

namespace berth::host_agent {

class JobTable {
public:
    std::shared_ptr<Job> find(JobId id) const {
        const std::lock_guard lock(mutex_);
        const auto found = jobs_.find(id);
        return found == jobs_.end() ? nullptr : found->second;
    }
    std::vector<std::shared_ptr<Job>> all() const {
        const std::lock_guard lock(mutex_);
        std::vector<std::shared_ptr<Job>> all;
        for (const auto& [id, job] : jobs_) all.push_back(job);
        return all;
    }
    // A job begins to live at once. Whoever it wakes waits here until it can be found.
    std::shared_ptr<Job> begin(JobContext& context, JobRecord record, Job::Origin origin) {
        const std::lock_guard lock(mutex_);
        auto job = std::make_shared<Job>(context, std::move(record), origin);
        jobs_.emplace(job->id(), job);
        return job;
    }
    void remove(JobId id) {
        const std::lock_guard lock(mutex_);
        jobs_.erase(id);
    }

private:
    mutable std::mutex mutex_;
    std::map<JobId, std::shared_ptr<Job>> jobs_;
};

}  // namespace berth::host_agent
