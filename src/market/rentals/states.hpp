// The life of a rental, all of it in one table: what may happen in which state, under which guard,
// where that leads and what goes with it. Whatever is not in the table is refused by find(), which
// everybody asks. The one in README.md is made from it. What time brings is in deadlines.hpp.
//
// Nothing here touches the database: the table says what is to be done, jobs do it.
#pragma once

#include <array>
#include <boost/describe.hpp>
#include <optional>
#include <span>
#include <string>

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
    funds_low,  // nothing changes; its renter is told
    funded_expiry,
    duration_limit,
    availability_ended,
    engine_failed,
    preempt_deadline,
    host_lost,
    gate_lost,
    stop_overdue,
    retrieval_over,
    clean_overdue,
    quarantined,
};
BOOST_DESCRIBE_ENUM(Event, start_accepted, start_rejected, ready, exited, preempt_notice, stopped,
                    cleaned, renter_stop, operator_stop, custom_images_off, serve, start_expired,
                    start_overdue, funds_low, funded_expiry, duration_limit, availability_ended,
                    engine_failed, preempt_deadline, host_lost, gate_lost, stop_overdue,
                    retrieval_over, clean_overdue, quarantined)

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
    gate_lost,  // nobody's fault
};
BOOST_DESCRIBE_ENUM(EndReason, never_ready, renter_stop, operator_stop, custom_images_off,
                    funded_expiry, duration_limit, availability_ended, workload_exited,
                    engine_failed, preempted, host_lost, gate_lost)

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

// The states of each kind, once: what asks in C++ and what asks in SQL is made from them.
inline constexpr std::array states_before_ready{JobState::RESERVED, JobState::STARTING};
inline constexpr std::array metered_states{JobState::READY, JobState::RUNNING};
// The machine is the job's own.
inline constexpr std::array live_states{JobState::RESERVED, JobState::STARTING, JobState::READY,
                                        JobState::RUNNING, JobState::STOPPING};
// Nothing runs and the money is settled.
inline constexpr std::array over_states{JobState::STOPPED, JobState::FAILED, JobState::CLOSED};
// Something can still be done with it, if only to fetch files.
inline constexpr std::array open_states{JobState::RESERVED, JobState::STARTING, JobState::READY,
                                        JobState::RUNNING,  JobState::STOPPING, JobState::STOPPED};
inline constexpr std::array closed_states{JobState::FAILED, JobState::CLOSED};
inline constexpr std::size_t states_count = open_states.size() + closed_states.size();

bool is_before_ready(JobState state);
bool is_metered(JobState state);
bool is_live(JobState state);
bool is_over(JobState state);
bool is_open(JobState state);

// An event as people write it.
std::string in_words(Event event);

// The table as it stands in README.md.
std::string readme_table_of_states();

}  // namespace berth::rentals
