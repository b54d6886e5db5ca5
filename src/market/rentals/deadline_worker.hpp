// Time passing: the worker looks for jobs whose time has come, every second, and lets it happen.
// Nothing is kept in memory, so that any process may do it, and a restart forgets nothing.
//
// Our own outage is nobody's fault: while no process listened no agent could be heard. Those that
// listen leave a sign of life in the database, which the worker only reads: it may be alive while
// nobody else is. After a gap in these signs every wait for an agent begins anew, and within one
// nothing that is waited for is late.
#pragma once

#include "rentals/lifecycle.hpp"
#include "worker/worker.hpp"

namespace berth::rentals {

inline constexpr std::int64_t jobs_per_look_max = 1000;

class DeadlineWorker {
public:
    struct Parts {
        const Lifecycle& lifecycle;
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    // One of several that share the work leaves the first `share` parts of what is due to others.
    explicit DeadlineWorker(const Parts& parts, std::int64_t share = 0)
        : parts_(parts), share_(share) {}

    // Lets everything happen that is due; says how many jobs it looked at.
    std::int64_t look();

private:
    void judge(const std::vector<JobRow>& due, Time now, Time up_since);
    void pass_time(JobId id, Time up_since);
    void put_uncleaned_aside(Time up_since);
    void tell_of_silence(Time up_since);

    const Parts parts_;
    const std::int64_t share_;
    Time silence_looked_at_{};
};

std::vector<worker::Kind> job_deadlines_kinds(const DeadlineWorker::Parts& parts);

}  // namespace berth::rentals
