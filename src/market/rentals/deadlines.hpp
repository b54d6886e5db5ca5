// What time brings to a job, all of it in one table: in which state, since when and after how long,
// and which event that is. Everybody who asks when something is due asks this table; the one in
// README.md is made from it.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "rentals/meter.hpp"
#include "rentals/store.hpp"

namespace berth::rentals {

inline constexpr Duration start_expires_after = std::chrono::seconds(120);
inline constexpr Duration progress_expected_within = std::chrono::seconds(900);
inline constexpr Duration host_lost_after = std::chrono::seconds(300);
inline constexpr Duration engine_failed_after = std::chrono::seconds(300);
inline constexpr Duration gate_lost_after = std::chrono::seconds(900);
inline constexpr Duration stop_confirmed_within = std::chrono::seconds(300);
inline constexpr Duration retrieval_max = std::chrono::seconds(900);
// So much of an image must come within progress_expected_within.
inline constexpr std::int64_t pull_bytes_expected = 100 * 1024 * 1024;
// What a renter's own image needs says nobody, so that it has less time than a template.
inline constexpr std::int64_t own_image_deadline_s = 1800;
inline constexpr Duration cleaned_within = std::chrono::seconds(900);
inline constexpr Duration funds_low_before = std::chrono::seconds(300);

// Which time counts. A wait for the host agent counts only time in which the service could have
// heard from it.
enum class Counts { all_time, time_up };

// How long the budget pays, and as long as the meter stood; see funded_ms().
struct FundedTime {};
// How long it pays before little is left: a tenth of that, or five minutes where that is more, and
// no more than half. Runs only where it is the budget that ends the job.
struct FundsLowTime {};
// As long as the job was billed, within bounds.
struct RetrievalTime {};

// A moment that a job remembers; while it has none the deadline does not run.
using OptionalMoment = std::optional<Time> JobLive::*;
using Moment = std::variant<Time JobLive::*, OptionalMoment, Time JobTerms::*>;
// A constant, what was agreed on in seconds, or what the money pays for.
using Span =
    std::variant<Duration, std::int64_t JobTerms::*, std::optional<std::int64_t> JobTerms::*,
                 FundedTime, FundsLowTime, RetrievalTime>;

struct Deadline {
    JobState state;
    Event event;  // what happens then
    Counts counts;
    Moment since;
    Span span;
    OptionalMoment only_with = nullptr;     // runs only while the job has this
    OptionalMoment only_without = nullptr;  // and only while it does not have that
    // Where people were told the time: it stands there while the deadline runs, and that one holds.
    OptionalMoment told_in = nullptr;
};
// Where two are due at the same time, the one that stands first happens.
std::span<const Deadline> deadlines();

struct Due {
    Time at;
    Event event;
};
// What happens to the job next if it is left alone. Waits for the host agent begin at `up_since` at
// the earliest: before that we could not have heard it.
std::optional<Due> next_due(const JobRow& job, Time up_since);
// The same of what changes its state.
std::optional<Due> next_change(const JobRow& job, Time up_since);
// The time that people are told when the deadline of this event begins to run.
Time time_to_tell(const JobRow& job, Event event);

// The end of what was agreed on, whatever else happens, and which limit it is; none before READY.
std::optional<Due> funding_end(const JobRow& job);
// When the host agent has to stop by itself; none before READY.
std::optional<Time> funded_through(const JobRow& job);
Terms terms_of(const JobRow& job);

// The table as it stands in README.md.
std::string readme_table_of_deadlines();

}  // namespace berth::rentals
