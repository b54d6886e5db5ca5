// The pages that a host reads of its machines, put together from machines, offers and rentals, the
// end of a machine, and what operators do to one.
#pragma once

#include "hosts/actions.hpp"
#include "hosts/types.hpp"

namespace berth::hosts {

inline constexpr std::int64_t recent_jobs_max = 20;

class Hosts {
public:
    explicit Hosts(const rentals::Rentals& rentals) : actions_(rentals) {}

    void add_routes(api::Router& router) const;

    api::Page<MachineSummary> list(api::Call& call, const MachinesQuery& query) const;
    MachineDetail show(api::Call& call, MachineId id) const;
    void retire(api::Call& call, MachineId id) const;
    offers::ListingOutcome retry_test(api::Call& call, MachineId id) const;

private:
    Actions actions_;
};

}  // namespace berth::hosts
