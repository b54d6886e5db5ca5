// What an owner does to one machine, and the rentals of all of them.
#include "audit/audit.hpp"
#include "hosts/hosts.hpp"
#include "machines/label.hpp"

namespace berth::hosts {

MachineEdited Hosts::edit(api::Call& call, MachineId id, const MachineEdit& wish) const {
    std::optional<std::string> label;
    if (wish.label.value) {
        label = wish.label.value->value;
        machines::check_label(*label, "body.label");
    }
    machines::Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    if (wish.expected_version && wish.expected_version->value != machine.version)
        throw Problem(Code::stale_version, "the machine was changed meanwhile; look at it again");
    if (machine.label != label) {
        machine.label = std::move(label);
        machines::save(call.context(), machine);
    }
    return {id, machine.label, {machine.version}};
}

NoticeGiven Hosts::take_back(api::Call& call, MachineId id, const TakeBack& wish) const {
    machines::Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    const auto notice = rentals_.give_notice(call.context(), machine, wish.reason.value);
    audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                   .action = "take_machine_back",
                                   .target = {"machine", to_string(id)},
                                   .request = call.request_id});
    return {notice.job_id, notice.notice_at, notice.deadline_at};
}

api::Page<HostRental> Hosts::list_rentals(api::Call& call, const HostRentalsQuery& query) const {
    const AccountId host = call.caller.account;
    const std::string which =
        to_string(host) + (query.machine_id ? " " + to_string(*query.machine_id) : "");
    const api::Pager pager(call.cursors, {"host-rentals", which}, query);
    const auto jobs = rentals::past_jobs(
        call.tx(),
        rentals::HostJobs{
            .host = host, .machine = query.machine_id, .before = pager.after_id<JobId>()},
        pager.rows_wanted());
    return pager.page(jobs, &rentals::PastJob::job_id, [&](const rentals::PastJob& job) {
        return HostRental{.job_id = job.job_id,
                          .machine_id = job.machine_id,
                          .state = job.state,
                          .started_at = job.started_at,
                          .ended_at = job.ended_at,
                          .end_reason = job.end_reason,
                          .ready = job.ready,
                          .rate_micro_per_hour = job.rate_per_hour,
                          .metered_ms = {job.billed_ms},
                          .earned_micro = earned_with(booked_job(call.tx(), job.job_id))};
    });
}

}  // namespace berth::hosts
