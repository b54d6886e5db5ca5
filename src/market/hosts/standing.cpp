#include "hosts/standing.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "hosts/hosts.hpp"
#include "ledger/days.hpp"
#include "machines/credentials.hpp"
#include "machines/qualification.hpp"
#include "machines/states.hpp"
#include "offers/offers.hpp"
#include "rentals/rentals.hpp"

namespace berth::hosts {
namespace {

using agent_protocol::MachineStanding;
using machines::Finding;
using machines::Machine;

constexpr std::int64_t bps_in_all = 10'000;

Machine seen(api::Call& call, MachineId id) {
    auto machine = machines::find(call.tx(), id);
    if (!machine) throw api::InvalidCredential("the machine has left");
    return std::move(*machine);
}

// As a receipt would take it out of the charge.
Micro share_of_host(Micro charge, std::int64_t fee_bps) {
    return charge - scale_floor(charge, {fee_bps, bps_in_all});
}

wire::Nullable<agent_protocol::StandingRental> rental_of(api::Call& call, const Machine& machine) {
    using enum machines::MachineState;
    if (machine.state != ALLOCATED && machine.state != DRAINING) return std::nullopt;
    const auto latest = rentals::past_jobs(call.tx(), machine.machine_id, 1);
    if (latest.empty() || latest.front().job_id != machine.job_id) return std::nullopt;
    const rentals::PastJob& job = latest.front();
    const auto metered = rentals::find_summary(call.tx(), job.job_id, call.now);
    require(metered.has_value(), "a job that was listed has a summary");
    return agent_protocol::StandingRental{
        .job_id = job.job_id,
        .state = std::string(enum_name(job.state)),
        .since = job.started_at,
        .ready = job.ready,
        .rate_micro_per_hour = job.rate_per_hour,
        .metered_ms = {job.billed_ms},
        .earned_micro = share_of_host(metered->charge, booked_job(call.tx(), job.job_id).fee_bps)};
}

wire::Nullable<agent_protocol::StandingOffer> offer_of(api::Call& call, const Machine& machine) {
    const auto version = offers::find_current_version(call.tx(), machine);
    if (!version || !machine.offer_state) return std::nullopt;
    return agent_protocol::StandingOffer{.state = std::string(enum_name(*machine.offer_state)),
                                         .offer_version = {version->offer_version},
                                         .rate_micro_per_hour = version->rate_micro_per_hour,
                                         .available_until = version->available_until};
}

// The first of the month of that day, as ledger::day_of() counts.
std::int64_t first_of_month(Time now) {
    const std::int64_t day_of_month = std::stoll(to_rfc3339(now).substr(8, 2));
    return ledger::day_of(now) - (day_of_month - 1);
}

void add_earnings(api::Call& call, MachineStanding& standing) {
    const ledger::Days days{first_of_month(call.now), ledger::day_of(call.now)};
    for (const ledger::Asset asset : ledger::assets)
        for (const ledger::DayEarnings& day :
             ledger::earnings_by_day(call.tx(), standing.machine_id, asset, days)) {
            standing.earned_month_micro.value += day.earned;
            if (day.day == days.last) standing.earned_today_micro.value += day.earned;
        }
}

// A test that failed says more than that it was not passed.
std::vector<Finding> findings_of(api::Call& call, const Machine& machine) {
    using machines::Blocker;
    using machines::QualifyState;
    const auto facts =
        offers::find_offer_facts(call.tx(), call.now, machine, machines::listing_rules(call));
    const auto blockers = machines::listing_blockers(machine, facts);
    const bool has_failed = machine.qualify_state == QualifyState::retrying ||
                            machine.qualify_state == QualifyState::needs_attention;
    std::vector<Finding> findings;
    if (has_failed)
        for (Finding& each : machines::show_qualification(call, machine.machine_id).findings)
            if (each.severity == machines::Severity::blocker) findings.push_back(std::move(each));
    const bool is_explained = !findings.empty();
    for (const Blocker blocker : blockers)
        if (blocker != Blocker::NOT_QUALIFIED || !is_explained)
            findings.push_back(machines::finding_of(blocker));
    for (Finding& warning : machines::listing_warnings(call.tx(), machine, blockers))
        findings.push_back(std::move(warning));
    const bool is_ready_unlisted = blockers.empty() &&
                                   machine.state == machines::MachineState::UNLISTED &&
                                   machine.offer_state != machines::OfferState::listed;
    if (is_ready_unlisted)
        findings.push_back({"NOT_LISTED", machines::Severity::warning,
                            fmt::format("The machine is ready and not for rent: berth machines "
                                        "list-for-rent {}",
                                        to_string(machine.machine_id))});
    return findings;
}

}  // namespace

MachineStanding show_standing(api::Call& call, MachineId id) {
    const Machine machine = seen(call, id);
    MachineStanding standing;
    standing.machine_id = id;
    standing.as_of = call.now;
    standing.label = machine.label;
    standing.state = enum_name(machine.state);
    standing.rental = rental_of(call, machine);
    standing.offer = offer_of(call, machine);
    standing.test = enum_name(machine.qualify_state);
    standing.findings = findings_of(call, machine);
    standing.reach = machine.reach;
    standing.reach_why = wire::Nullable<std::string>(machines::find_reach_why(call.tx(), id));
    add_earnings(call, standing);
    return standing;
}

MachineStanding drain_own(api::Call& call, MachineId id) {
    auto machine = machines::hold(call.tx(), id);
    if (!machine) throw api::InvalidCredential("the machine has left");
    if (machine->offer_version > 0)
        machines::apply(call.context(), *machine, machines::MachineEvent::drain);
    else  // nor is it listed when its test is passed
        machines::withdraw_wish_to_list(call.context(), id);
    return show_standing(call, id);
}

void add_standing_routes(api::Router& router) {
    router.add(
        {.method = "GET",
         .path = "/api/v1/host-agent/standing",
         .name = "show_standing",
         .group = "host agent",
         .summary = "How the machine stands: rented or not, what it earned, what it lacks.",
         .access = api::Access::machine},
        [](api::Call& call) { return show_standing(call, machines::machine_of(call.caller)); });
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/drain",
                .name = "drain",
                .group = "host agent",
                .summary = "Lets a rental that runs go on and takes no other.",
                .access = api::Access::machine,
                .work = api::Work::write},
               [](api::Call& call) { return drain_own(call, machines::machine_of(call.caller)); });
}

}  // namespace berth::hosts
