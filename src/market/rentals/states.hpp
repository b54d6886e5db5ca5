// The life of a rental, all of it in one table: what may happen in which state, under which guard,
// where that leads and what goes with it. Whatever is not in the table is refused by find(), which
// everybody asks. The picture in README.md is made from the same table.
//
// Nothing here touches the database: the table says what is to be done, jobs do it.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <span>
#include <string>

#include "rentals/meter.hpp"

namespace berth::rentals {

enum class JobState { RESERVED, STARTING, READY, RUNNING, STOPPING, STOPPED, FAILED, CLOSED };
BOOST_DESCRIBE_ENUM(JobState, RESERVED, STARTING, READY, RUNNING, STOPPING, STOPPED, FAILED, CLOSED)

enum class Event {
    // from the agent
    start_accepted,
    start_rejected,
    ready,
    exited,
    preempt_notice,
    stopped,
    cleaned,
    // from people
    renter_stop,
    operator_stop,
    custom_images_off,
    // from the clock, and from what we see ourselves
    serve,  // follows READY in the same transaction
    start_expired,
    start_overdue,
    funded_expiry,
    duration_limit,
    availability_ended,
    engine_failed,
    preempt_deadline,
    host_lost,
    stop_overdue,
    retrieval_over,
    clean_overdue,
    quarantined,
};
BOOST_DESCRIBE_ENUM(Event, start_accepted, start_rejected, ready, exited, preempt_notice, stopped,
                    cleaned, renter_stop, operator_stop, custom_images_off, serve, start_expired,
                    start_overdue, funded_expiry, duration_limit, availability_ended, engine_failed,
                    preempt_deadline, host_lost, stop_overdue, retrieval_over, clean_overdue,
                    quarantined)
Event event_of(Limit limit);

enum class EndReason {
    never_ready,
    renter_stop,
    operator_stop,
    custom_images_off,
    funded_expiry,
    duration_limit,
    availability_ended,
    workload_exited,
    engine_failed,
    preempted,
    host_lost,
};
BOOST_DESCRIBE_ENUM(EndReason, never_ready, renter_stop, operator_stop, custom_images_off,
                    funded_expiry, duration_limit, availability_ended, workload_exited,
                    engine_failed, preempted, host_lost)

// What must be so for a line of the table to count.
enum class Guard {
    always,
    start_not_delivered,
    start_delivered,
    interruptible_and_not_noticed,
    noticed,
};
BOOST_DESCRIBE_ENUM(Guard, always, start_not_delivered, start_delivered,
                    interruptible_and_not_noticed, noticed)
struct Facts {
    bool start_delivered = false;
    bool is_interruptible = false;
    bool is_noticed = false;
};

// What goes with a change of state, in the same transaction.
enum class Effect {
    start_meter,
    stop_meter,  // at the moment of the event; an earlier stop stays
    cut_meter,   // at the last accepted report
    send_stop,
    settle,          // the rest of the charge, once, and the rest of the hold goes back
    open_retrieval,  // or CLEAN at once, where there is nothing to retrieve
    send_clean,
    free_machine,  // to CLEANING; a start that failed may quarantine it
    quarantine_machine,
    note_cleaned,  // the machine may be rented again
};
BOOST_DESCRIBE_ENUM(Effect, start_meter, stop_meter, cut_meter, send_stop, settle, open_retrieval,
                    send_clean, free_machine, quarantine_machine, note_cleaned)

struct Transition {
    JobState from;
    Event event;
    JobState to;
    Guard guard = Guard::always;
    std::optional<EndReason> reason = {};
    std::span<const Effect> effects = {};

    bool has(Effect effect) const;
};

std::span<const Transition> transitions();

// The line for this; throws a Problem CONFLICT that names the state where there is none.
const Transition& find(JobState from, Event event, const Facts& facts);
// The same, for whoever asks whether something could happen.
bool allows(JobState from, Event event, const Facts& facts);

bool is_before_ready(JobState state);
bool is_metered(JobState state);  // READY and RUNNING
bool is_over(JobState state);     // nothing runs and the money is settled: STOPPED, FAILED, CLOSED

// How long the service waits, and what happens then. A wait for the agent counts only time in which
// the service could have heard from it.
enum class Wait { agent, exact };
struct Patience {
    JobState state;
    Event event;
    Wait wait;
    std::string_view since;
    std::string_view span;
};
std::span<const Patience> patience();

inline constexpr Duration start_expires_after = std::chrono::seconds(120);
inline constexpr Duration progress_expected_within = std::chrono::seconds(900);
inline constexpr Duration host_lost_after = std::chrono::seconds(300);
inline constexpr Duration engine_failed_after = std::chrono::seconds(300);
inline constexpr Duration stop_confirmed_within = std::chrono::seconds(300);
inline constexpr Duration retrieval_window = std::chrono::seconds(900);
inline constexpr Duration cleaned_within = std::chrono::seconds(900);

// The two tables as they stand in README.md.
std::string picture();

}  // namespace berth::rentals
