// What a host reads of the rentals on its machines, and what it does to one machine of its own.
#pragma once

#include "api/page.hpp"
#include "machines/types.hpp"
#include "rentals/types.hpp"

namespace berth::hosts {

struct HostRentalsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<MachineId> machine_id;
};
BOOST_DESCRIBE_STRUCT(HostRentalsQuery, (), (cursor, limit, machine_id))
constexpr auto wire_docs(const HostRentalsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor", "Where to go on: next_cursor of the page before. Left out for the first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"machine_id", "Only rentals of this machine."},
    });
}

// Whose the rental is, is not the host's to know.
struct HostRental {
    JobId job_id;
    MachineId machine_id;
    rentals::JobState state = rentals::JobState::RESERVED;
    Time started_at;
    wire::Nullable<Time> ended_at;
    wire::Nullable<rentals::EndReason> end_reason;
    bool ready = false;
    Micro rate_micro_per_hour;
    wire::Decimal metered_ms;
    Micro earned_micro;
};
BOOST_DESCRIBE_STRUCT(HostRental, (),
                      (job_id, machine_id, state, started_at, ended_at, end_reason, ready,
                       rate_micro_per_hour, metered_ms, earned_micro))
constexpr auto wire_docs(const HostRental*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "The machine, also one that was retired since."},
        {"state", "Of the rental.", "CLOSED"},
        {"started_at", "When it became READY; before that, when it was reserved."},
        {"ended_at", "Null while it is open.", "null"},
        {"end_reason", "Why it ended; null before.", "renter_stop"},
        {"ready", "False when the host never reached READY: nothing ran, nothing was billed."},
        {"rate_micro_per_hour", "As it was quoted.", "390000"},
        {"metered_ms", "Billed runtime since READY.", "3600000"},
        {"earned_micro", "The host's share that was posted.", "351000"},
    });
}

using MachineLabel = wire::Text<1, 64>;

struct MachineEdit {
    wire::Nullable<MachineLabel> label;
    std::optional<wire::Decimal> expected_version;
};
BOOST_DESCRIBE_STRUCT(MachineEdit, (), (label, expected_version))
constexpr auto wire_docs(const MachineEdit*) {
    return std::to_array<wire::Doc>({
        {"label", "What you call it, in printable characters; null takes the name away.",
         "rack 2, left"},
        {"expected_version", "The machine's version as it was looked at; left out, any.", "17"},
    });
}

struct MachineEdited {
    MachineId machine_id;
    wire::Nullable<std::string> label;
    wire::Decimal version;
};
BOOST_DESCRIBE_STRUCT(MachineEdited, (), (machine_id, label, version))
constexpr auto wire_docs(const MachineEdited*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "Of the machine that was asked for."},
        {"label", "As it now stands.", "rack 2, left"},
        {"version", "After this.", "18"},
    });
}

struct TakeBack {
    wire::Text<1, 500> reason;
};
BOOST_DESCRIBE_STRUCT(TakeBack, (), (reason))
constexpr auto wire_docs(const TakeBack*) {
    return std::to_array<wire::Doc>({
        {"reason", "For the renter; kept with the rental.", "the owner needs the machine"},
    });
}

struct NoticeGiven {
    JobId job_id;
    Time notice_at;
    Time deadline_at;
};
BOOST_DESCRIBE_STRUCT(NoticeGiven, (), (job_id, notice_at, deadline_at))
constexpr auto wire_docs(const NoticeGiven*) {
    return std::to_array<wire::Doc>({
        {"job_id", "The rental that was given notice."},
        {"notice_at", "Nothing after this is billed."},
        {"deadline_at", "Until when the renter can still use the machine."},
    });
}

}  // namespace berth::hosts
