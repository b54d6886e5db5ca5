// What renters and hosts are told of a job. Which line of the table of states tells what is decided
// here; a test finds a line that tells nothing and is not among the silent ones.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "machines/silence.hpp"
#include "rentals/store.hpp"

namespace berth::rentals {

// Members of the job as its renter reads it, as they were when this happened.
struct RentalFacts {
    JobState state = JobState::RESERVED;
    MachineId machine_id;
    Nullable<EndReason> end_reason;
    Micro budget_micro;
    Decimal budget_version;
    Micro cumulative_charge_micro;
    Decimal accepted_runtime_ms;
    Nullable<Time> meter_started_at;
    Nullable<Time> meter_stopped_at;
    Nullable<Time> funded_through;
    Nullable<Time> retrieval_until;
    Nullable<Failure> failure;
    Nullable<TimeToReady> time_to_ready;
};
BOOST_DESCRIBE_STRUCT(RentalFacts, (),
                      (state, machine_id, end_reason, budget_micro, budget_version,
                       cumulative_charge_micro, accepted_runtime_ms, meter_started_at,
                       meter_stopped_at, funded_through, retrieval_until, failure, time_to_ready))
constexpr auto wire_docs(const RentalFacts*) {
    return std::to_array<wire::Doc>({
        {"state", "The one that it came into.", "RUNNING"},
        {"end_reason", "Why it ends; null before.", "null"},
        {"budget_micro", "What is held.", "5000000"},
        {"budget_version", "Counts the raises of the budget.", "1"},
        {"cumulative_charge_micro", "What it had cost by then.", "250000"},
        {"accepted_runtime_ms", "What was billed by then, in milliseconds.", "450000"},
        {"meter_started_at", "When it became READY; null before."},
        {"meter_stopped_at", "Nothing after this is billed; null while it runs.", "null"},
        {"funded_through", "When the money, the duration or the offer ends; null before READY."},
        {"retrieval_until", "Until when files can be fetched; null where there is no such time.",
         "null"},
        {"failure", "Why it did not come up, or broke; null when it did not.", "null"},
        {"time_to_ready", "What the start took; null before it runs.", "null"},
    });
}

struct PreemptionFacts {
    Time notice_at;
    Time deadline_at;
};
BOOST_DESCRIBE_STRUCT(PreemptionFacts, (), (notice_at, deadline_at))
constexpr auto wire_docs(const PreemptionFacts*) {
    return std::to_array<wire::Doc>({
        {"notice_at", "Nothing after this is billed."},
        {"deadline_at", "Until when the machine can still be used."},
    });
}

struct FundsLowFacts {
    Count left_s;
    Nullable<Time> funded_through;
    Micro budget_micro;
    Decimal budget_version;
};
BOOST_DESCRIBE_STRUCT(FundsLowFacts, (), (left_s, funded_through, budget_micro, budget_version))
constexpr auto wire_docs(const FundsLowFacts*) {
    return std::to_array<wire::Doc>({
        {"left_s", "For how many seconds the budget still pays.", "360"},
        {"funded_through", "When it is spent, and the rental ends."},
        {"budget_micro", "What is held.", "5000000"},
        {"budget_version", "To be named by who raises it.", "1"},
    });
}

struct SinceFacts {
    Time since;
};
BOOST_DESCRIBE_STRUCT(SinceFacts, (), (since))
constexpr auto wire_docs(const SinceFacts*) {
    return std::to_array<wire::Doc>({{"since", "When it began, by the service's clock."}});
}

struct BudgetFacts {
    Micro budget_micro;
    Decimal budget_version;
    Nullable<Time> funded_through;
};
BOOST_DESCRIBE_STRUCT(BudgetFacts, (), (budget_micro, budget_version, funded_through))
constexpr auto wire_docs(const BudgetFacts*) {
    return std::to_array<wire::Doc>({
        {"budget_micro", "What is held.", "6000000"},
        {"budget_version", "Counts the raises of the budget.", "2"},
        {"funded_through", "Null before READY."},
    });
}

struct EgressFacts {
    Egress egress;
};
BOOST_DESCRIBE_STRUCT(EgressFacts, (), (egress))
constexpr auto wire_docs(const EgressFacts*) {
    return std::to_array<wire::Doc>({{"egress", "What it has sent."}});
}

// As the host's list of recent jobs has it, and nothing of the renter.
struct HostingFacts {
    MachineId machine_id;
    JobId job_id;
    JobState state = JobState::RUNNING;
    Nullable<EndReason> end_reason;
    bool ready = false;
    Decimal billed_ms;
    Micro earned_micro;
    Nullable<Failure> failure;
};
BOOST_DESCRIBE_STRUCT(HostingFacts, (),
                      (machine_id, job_id, state, end_reason, ready, billed_ms, earned_micro,
                       failure))
constexpr auto wire_docs(const HostingFacts*) {
    return std::to_array<wire::Doc>({
        {"state", "Of the rental.", "STOPPED"},
        {"end_reason", "Why it ended; null while it runs.", "renter_stop"},
        {"ready", "False when the host never reached READY: nothing ran, nothing was billed."},
        {"billed_ms", "Metered runtime since READY.", "3600000"},
        {"earned_micro", "The host's share of the charge.", "351000"},
        {"failure", "Why it did not come up, in the words that its renter reads; else null.",
         "null"},
    });
}

using RentalKind = events::Kind<RentalFacts>;
inline constexpr RentalKind rental_reserved{"rental.reserved", "rental", events::Audience::renter,
                                            "A machine was reserved and the budget is held.",
                                            R"({"state":"RESERVED","cumulative_charge_micro":"0",)"
                                            R"("accepted_runtime_ms":"0","meter_started_at":null,)"
                                            R"("funded_through":null})"};
inline constexpr RentalKind rental_starting{"rental.starting", "rental", events::Audience::renter,
                                            "The host has taken the job up.",
                                            R"({"state":"STARTING","cumulative_charge_micro":"0",)"
                                            R"("accepted_runtime_ms":"0","meter_started_at":null,)"
                                            R"("funded_through":null})"};
inline constexpr RentalKind rental_running{
    "rental.running", "rental", events::Audience::renter,
    "It is ready and can be used; billing began.",
    R"({"state":"RUNNING","cumulative_charge_micro":"0",)"
    R"("accepted_runtime_ms":"0","funded_through":"2026-01-15T14:30:00Z",)"
    R"("time_to_ready":{"pull_ms":"61000","load_ms":"42000",)"
    R"("probe_ms":"1500"}})"};
inline constexpr RentalKind rental_stopping{"rental.stopping", "rental", events::Audience::renter,
                                            "It is being stopped; billing ended.",
                                            R"({"state":"STOPPING","end_reason":"renter_stop",)"
                                            R"("cumulative_charge_micro":"2000000",)"
                                            R"("accepted_runtime_ms":"3600000",)"
                                            R"("meter_stopped_at":"2026-01-15T13:00:00Z",)"
                                            R"("funded_through":"2026-01-15T14:30:00Z"})"};
inline constexpr RentalKind rental_stopped{"rental.stopped", "rental", events::Audience::renter,
                                           "Nothing runs any more and the charge is settled.",
                                           R"({"state":"STOPPED","end_reason":"renter_stop",)"
                                           R"("cumulative_charge_micro":"2000000",)"
                                           R"("accepted_runtime_ms":"3600000",)"
                                           R"("meter_stopped_at":"2026-01-15T13:00:00Z",)"
                                           R"("funded_through":"2026-01-15T14:30:00Z",)"
                                           R"("retrieval_until":"2026-01-15T13:30:00Z"})"};
inline constexpr RentalKind rental_failed{
    "rental.failed",
    "rental",
    events::Audience::renter,
    "It never came up; nothing was billed and the budget is back.",
    R"({"state":"FAILED","end_reason":"never_ready",)"
    R"("cumulative_charge_micro":"0","accepted_runtime_ms":"0",)"
    R"("meter_started_at":null,"funded_through":null,)"
    R"("failure":{"code":"DISK_FULL",)"
    R"("message":"The disk of the machine was full before the image was there."}})",
    events::Mail::now};
inline constexpr RentalKind rental_closed{"rental.closed", "rental", events::Audience::renter,
                                          "It is over, and files can no longer be fetched.",
                                          R"({"state":"CLOSED","end_reason":"renter_stop",)"
                                          R"("cumulative_charge_micro":"2000000",)"
                                          R"("accepted_runtime_ms":"3600000",)"
                                          R"("meter_stopped_at":"2026-01-15T13:00:00Z",)"
                                          R"("funded_through":"2026-01-15T14:30:00Z"})"};
inline constexpr events::Kind<PreemptionFacts> rental_preemption_noticed{
    "rental.preemption_noticed",
    "rental",
    events::Audience::renter,
    "The host takes the machine back; nothing more is billed.",
    R"({"deadline_at":"2026-01-15T12:05:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<FundsLowFacts> rental_funds_low{
    "rental.funds_low",
    "rental",
    events::Audience::renter,
    "A tenth of what the budget pays for is left, or five minutes. Once for each budget.",
    R"({"left_s":900,"funded_through":"2026-01-15T14:30:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<SinceFacts> rental_engine_down{
    "rental.engine_down",
    "rental",
    events::Audience::renter,
    "The engine does not answer; nothing is billed meanwhile.",
    R"({"since":"2026-01-15T12:10:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<SinceFacts> rental_engine_up{
    "rental.engine_up", "rental", events::Audience::renter, "The engine answers again.",
    R"({"since":"2026-01-15T12:12:00Z"})"};
inline constexpr events::Kind<SinceFacts> rental_gpu_lost{
    "rental.gpu_lost",
    "rental",
    events::Audience::renter,
    "A GPU of the machine does not answer; nothing is billed meanwhile.",
    R"({"since":"2026-01-15T12:20:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<SinceFacts> rental_gpu_back{
    "rental.gpu_back", "rental", events::Audience::renter, "All GPUs of the machine answer again.",
    R"({"since":"2026-01-15T12:26:00Z"})"};
inline constexpr events::Kind<SinceFacts> rental_unreachable{
    "rental.unreachable", "rental", events::Audience::renter,
    "Its host was not heard for 90 seconds, and the rental may be out of reach; after 300 seconds "
    "it ends.",
    R"({"since":"2026-01-15T12:30:00Z"})"};
inline constexpr events::Kind<SinceFacts> rental_reachable{
    "rental.reachable", "rental", events::Audience::renter,
    "Its host is heard again, after it was not.", R"({"since":"2026-01-15T12:30:01Z"})"};
inline constexpr events::Kind<SinceFacts> rental_uncarried{
    "rental.uncarried", "rental", events::Audience::renter,
    "Its gate has not carried it for 60 seconds: it is out of reach and nothing is billed "
    "meanwhile; after 900 seconds it ends.",
    R"({"since":"2026-01-15T12:40:00Z"})"};
inline constexpr events::Kind<SinceFacts> rental_carried{
    "rental.carried", "rental", events::Audience::renter,
    "Its gate carries it again, after it did not; billing goes on.",
    R"({"since":"2026-01-15T12:43:00Z"})"};
inline constexpr events::Kind<BudgetFacts> rental_budget_raised{
    "rental.budget_raised", "rental", events::Audience::renter, "The budget was raised.",
    R"({"budget_micro":"6000000","budget_version":"2",)"
    R"("funded_through":"2026-01-15T15:00:00Z"})"};
inline constexpr events::Kind<EgressFacts> rental_egress_low{
    "rental.egress_low", "rental", events::Audience::renter,
    "Four fifths of what the price includes are sent; past all of it, the rental goes on slowly. "
    "Once for each rental.",
    R"({"egress":{"used_bytes":"858993459200",)"
    R"("included_bytes":"1073741824000","state":"nearly_used"}})"};
inline constexpr events::Kind<HostingFacts> hosting_started{
    "hosting.started", "rental", events::Audience::host,
    "A rental runs on a machine of the host, and earns.",
    R"({"state":"RUNNING","end_reason":null,"ready":true,"billed_ms":"0",)"
    R"("earned_micro":"0"})"};
inline constexpr events::Kind<HostingFacts> hosting_ended{
    "hosting.ended", "rental", events::Audience::host,
    "A rental on a machine of the host is over and settled.",
    R"({"state":"STOPPED","end_reason":"renter_stop","ready":true,)"
    R"("billed_ms":"3600000","earned_micro":"1800000"})"};

std::vector<events::DeclaredKind> event_kinds();

// What a line of the table tells.
enum class TellRenter { nothing, state, preemption, funds_low };
struct Tells {
    TellRenter renter = TellRenter::nothing;
    bool host_started = false;
    bool host_ended = false;

    bool nothing() const { return renter == TellRenter::nothing && !host_started && !host_ended; }
};
Tells told_by(const Transition& line);
// Lines of which nobody needs to hear: what follows at once, or changes nothing for anybody.
bool is_silent(const Transition& line);

// For the lifecycle, once all of it is done: `job` as it is now.
struct Happened {
    const Transition& line;
    std::optional<Failure> failure = {};
    std::optional<TimeToReady> took = {};
};
void tell(const db::Context& context, const JobRow& job, const Happened& happened);
void tell_reserved(const db::Context& context, const JobRow& job);
// To the renter of a machine that fell silent, or is heard again.
void tell_of_reach(const db::Context& context, const machines::Silence& silence,
                   const events::Kind<SinceFacts>& kind);

}  // namespace berth::rentals
