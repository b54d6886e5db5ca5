// How a machine stands, as its server tells the machine itself: for whoever sits before it, and has
// no account there.
#pragma once

#include <boost/describe.hpp>
#include <string>
#include <vector>

#include "agent_protocol/qualification.hpp"

namespace berth::agent_protocol {

// States are texts here: an agent shows those of a later server, too.
struct StandingRental {
    JobId job_id;
    std::string state;
    Time since;
    bool ready = false;
    Micro rate_micro_per_hour;
    wire::Decimal metered_ms;
    Micro earned_micro;
};
BOOST_DESCRIBE_STRUCT(StandingRental, (),
                      (job_id, state, since, ready, rate_micro_per_hour, metered_ms, earned_micro))
constexpr auto wire_docs(const StandingRental*) {
    return std::to_array<wire::Doc>({
        {"job_id", "The rental that holds the machine."},
        {"state", "Of the rental.", "RUNNING"},
        {"since", "When it became READY; before that, when it was reserved."},
        {"ready", "Whether it was READY, so that it is paid for.", "true"},
        {"rate_micro_per_hour", "As it was quoted.", "400000"},
        {"metered_ms", "For how long it is paid so far.", "3600000"},
        {"earned_micro",
         "The host's share of that. It is booked when the day is over, or the rental.", "360000"},
    });
}

struct StandingOffer {
    std::string state;
    wire::Decimal offer_version;
    Micro rate_micro_per_hour;
    Time available_until;
};
BOOST_DESCRIBE_STRUCT(StandingOffer, (),
                      (state, offer_version, rate_micro_per_hour, available_until))
constexpr auto wire_docs(const StandingOffer*) {
    return std::to_array<wire::Doc>({
        {"state", "listed, unlisted or draining.", "listed"},
        {"offer_version", "Of the offer that counts.", "3"},
        {"rate_micro_per_hour", "For the whole machine.", "400000"},
        {"available_until", "Rentals end then at the latest."},
    });
}

struct MachineStanding {
    MachineId machine_id;
    Time as_of;
    wire::Nullable<std::string> label;
    std::string state;
    wire::Nullable<StandingRental> rental;
    wire::Nullable<StandingOffer> offer;
    std::string test;
    wire::SignedMicro earned_today_micro;
    wire::SignedMicro earned_month_micro;
    std::vector<Finding> findings;
    Reach reach = Reach::direct;
    wire::Nullable<std::string> reach_why;
};
BOOST_DESCRIBE_STRUCT(MachineStanding, (),
                      (machine_id, as_of, label, state, rental, offer, test, earned_today_micro,
                       earned_month_micro, findings, reach, reach_why))
constexpr auto wire_docs(const MachineStanding*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "The machine that asks."},
        {"as_of", "The server's time of it."},
        {"label", "What its owner calls it; null without a name.", "rack 2, left"},
        {"state", "Of the machine.", "ALLOCATED"},
        {"rental", "The one that holds the machine; null while none does."},
        {"offer", "What is asked for it; null before anything was published."},
        {"test", "How its test stands: waiting, testing, passed, retrying, needs_attention.",
         "passed"},
        {"earned_today_micro",
         "The host's share that was booked since midnight in UTC, in all assets together; below "
         "zero where more was taken back.",
         "1200000"},
        {"earned_month_micro", "Likewise since the first of the month.", "48300000"},
        {"findings", "What keeps it from being rented, and what to do about it, the first first."},
        {"reach", "How its jobs are reached."},
        {"reach_why", "What its last passed test found of that; null before the first.",
         "A gate leads to it: the agent names no address of its own."},
    });
}

}  // namespace berth::agent_protocol
