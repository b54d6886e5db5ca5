// What operators do with jobs: look at all of them, and stop one.
#pragma once

#include "api/audited.hpp"
#include "api/router.hpp"
#include "rentals/lifecycle.hpp"

namespace berth::rentals {

struct AdminJobsQuery {
    std::optional<JobState> state;
    std::optional<AccountId> renter;
    std::optional<AccountId> host;
    std::optional<MachineId> machine;
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
};
BOOST_DESCRIBE_STRUCT(AdminJobsQuery, (), (state, renter, host, machine, cursor, limit))
constexpr auto wire_docs(const AdminJobsQuery*) {
    return std::to_array<wire::Doc>({
        {"state", "Only jobs in this state.", "RUNNING"},
        {"renter", "Only jobs of this account."},
        {"host", "Only jobs on machines of this account."},
        {"machine", "Only jobs on this machine."},
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
    });
}

struct OperatorStop {
    wire::Text<1, 2000> reason;
};
BOOST_DESCRIBE_STRUCT(OperatorStop, (), (reason))
constexpr auto wire_docs(const OperatorStop*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The host reported a fire alarm."),
    });
}

class Operators {
public:
    explicit Operators(const Lifecycle& lifecycle) : lifecycle_(lifecycle) {}

    void add_routes(api::Router& router) const;

    api::Page<Job> list(api::Call& call, const AdminJobsQuery& query) const;
    // Again is harmless: a job that is stopped, or being stopped, is told as it stands.
    JobAccepted stop(api::Call& call, const JobPath& path, const OperatorStop& request) const;

private:
    const Lifecycle& lifecycle_;
};

}  // namespace berth::rentals
