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

// A gap of more than this was an outage.
inline constexpr Duration outage_after = std::chrono::seconds(15);
inline constexpr std::int64_t jobs_per_look_max = 1000;

class DeadlineWorker {
public:
    struct Parts {
        const Lifecycle& lifecycle;
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    explicit DeadlineWorker(const Parts& parts) : parts_(parts) {}

    // Lets everything happen that is due; says how many jobs it looked at.
    std::int64_t look(const std::function<void(MachineId)>& wake);

private:
    MachineId pass_time(JobId id, Time up_since);
    void put_uncleaned_aside(Time up_since);

    const Parts parts_;
};

worker::Kind job_deadlines_kind(const DeadlineWorker::Parts& parts);

}  // namespace berth::rentals
