// The pages that a host reads of its machines, put together from machines, offers and rentals, and
// the end of a machine.
#pragma once

#include "api/router.hpp"
#include "hosts/types.hpp"

namespace berth::hosts {

inline constexpr std::int64_t recent_jobs_max = 20;

// What rentals tell of a machine.
class RecentJobs {
public:
    virtual ~RecentJobs() = default;
    // The latest, newest first.
    virtual std::vector<RecentJob> find(db::Transaction& tx, MachineId machine,
                                        std::int64_t rows_max) const = 0;
};

// Where there are no rentals.
class NoRentals final : public RecentJobs {
public:
    std::vector<RecentJob> find(db::Transaction&, MachineId, std::int64_t) const override {
        return {};
    }
};

// A key of a renter has no business with machines; operators read everything.
void require_host_or_admin(const api::Call& call);

class Hosts {
public:
    explicit Hosts(const RecentJobs& jobs) : jobs_(jobs) {}

    void add_routes(api::Router& router) const;

    api::Page<MachineSummary> list(api::Call& call, const MachinesQuery& query) const;
    MachineDetail show(api::Call& call, MachineId id) const;
    void retire(api::Call& call, MachineId id) const;
    offers::ListingOutcome retry_test(api::Call& call, MachineId id) const;

private:
    const RecentJobs& jobs_;
};

}  // namespace berth::hosts
