// What there is of everything, for the operator's collector: a thread of its own counts now and
// then, so that /metrics answers at once also while the database hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "api/metrics.hpp"
#include "db/db.hpp"

namespace berth::server {

class Census {
public:
    static constexpr std::chrono::seconds count_every{15};

    // The families join `metrics`, which is not asked after the census is gone.
    Census(db::Database& database, const Clock& clock, api::Metrics& metrics);
    ~Census();
    Census(const Census&) = delete;
    Census& operator=(const Census&) = delete;

private:
    using SteadyClock = std::chrono::steady_clock;

    void loop();
    void count();
    double age_seconds() const;

    db::Database& database_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::vector<api::Metrics::Sample>> counted_;  // by name of the family
    SteadyClock::time_point counted_at_ = SteadyClock::now();
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace berth::server
