// The pages that a host reads of its machines, put together from machines, offers and rentals, the
// end of a machine, and what operators do to one.
#pragma once

#include "hosts/actions.hpp"
#include "hosts/rental_types.hpp"
#include "hosts/types.hpp"
#include "ledger/ledger.hpp"

namespace berth::hosts {

inline constexpr std::int64_t recent_jobs_max = 20;

ledger::Job booked_job(db::Transaction& tx, JobId id);
// What was posted to the host for a job, less what was taken back.
Micro earned_with(const ledger::Job& job);

class Hosts {
public:
    explicit Hosts(const rentals::Rentals& rentals) : rentals_(rentals), actions_(rentals) {}

    void add_routes(api::Router& router) const;

    api::Page<MachineSummary> list(api::Call& call, const MachinesQuery& query) const;
    MachineDetail show(api::Call& call, MachineId id) const;
    void retire(api::Call& call, MachineId id) const;
    offers::ListingOutcome retry_test(api::Call& call, MachineId id) const;

    // In own_machines.cpp: what an owner does to one, and the rentals of all.
    MachineEdited edit(api::Call& call, MachineId id, const MachineEdit& wish) const;
    NoticeGiven take_back(api::Call& call, MachineId id, const TakeBack& wish) const;
    api::Page<HostRental> list_rentals(api::Call& call, const HostRentalsQuery& query) const;

private:
    const rentals::Rentals& rentals_;
    Actions actions_;
};

}  // namespace berth::hosts
