// What renters and operators do with jobs: look at them, reach them, stop them, raise their budget.
#pragma once

#include "api/router.hpp"
#include "rentals/host_agent_side.hpp"
#include "rentals/lifecycle.hpp"

namespace berth::rentals {

// The job as it is shown. Until `up_since` no agent could be heard, so that no wait began earlier.
struct Present {
    Time now;
    Time up_since;
};
Job shown(const JobRow& job, const JobDetails& details, const Present& present);

class Jobs {
public:
    Jobs(const Lifecycle& lifecycle, const crypto::Sealer& sealer)
        : lifecycle_(lifecycle), sealer_(sealer) {}

    void add_routes(api::Router& router) const;

    api::Page<Job> list(api::Call& call, const JobsQuery& query) const;
    Job show(api::Call& call, const JobPath& path) const;
    JobAccess access(api::Call& call, const JobPath& path) const;
    JobLogs logs(api::Call& call, const JobPath& path) const;
    api::Page<Evidence> evidence(api::Call& call, const JobPath& path,
                                 const api::PageQuery& query) const;
    JobAccepted stop(api::Call& call, const JobPath& path, const StopJob& request) const;
    BudgetRaised raise_budget(api::Call& call, const JobPath& path,
                              const RaiseBudget& request) const;

private:
    JobRow find_own(api::Call& call, JobId id) const;
    HeldJob hold_own(api::Call& call, JobId id) const;

    const Lifecycle& lifecycle_;
    const crypto::Sealer& sealer_;
};

}  // namespace berth::rentals
