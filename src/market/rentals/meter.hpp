// What a rental costs: pure arithmetic over whole milliseconds and micro-units, with products in
// 128 bits. It reads no clock and no table, so that every rule about money can be tried in a table.
//
// Two clocks meet here and are never subtracted from one another: the agent's counter says how long
// the workload ran, ours says how long that can have been. The smaller increase counts, report by
// report, so that neither side alone can make a renter pay for more than elapsed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/money.hpp"
#include "base/time.hpp"

namespace berth::rentals {

inline constexpr std::int64_t ms_per_hour = 3'600'000;

// What a renter agreed to; of a job, what its quote said, with the budget as it was raised since.
struct Terms {
    Micro rate_per_hour;
    Micro budget;
    std::int64_t duration_limit_s = 0;
    Time available_until;  // of the offer version that was quoted
};

// min(budget, floor(rate × runtime / 3600000)), over the whole runtime and never summed up.
Micro charge_of(const Terms& terms, std::int64_t runtime_ms);

// What the whole duration would cost, whatever the budget. Empty when that is more than an amount
// can be.
std::optional<Micro> estimate_of(const Terms& terms);

// For how long the budget pays, at most the duration limit. At rate 0 only the limit counts.
std::int64_t funded_ms(const Terms& terms);

// When the money, the duration or the availability is over, whichever comes first, and which it is.
// Where two are at once the reason is the one that no budget could have changed.
enum class Limit { funded_expiry, duration_limit, availability_ended };
struct FundedThrough {
    Time at;
    Limit limit = Limit::duration_limit;
};
// What the meter stood is paid for later; a duration and an availability are by the clock.
FundedThrough funded_through(const Terms& terms, Time meter_started_at, std::int64_t stood_ms = 0);

// A workload must be gone this long after its lease ran out; an agent sees to it by itself.
inline constexpr Duration gone_after_lease = std::chrono::seconds(300);
// Of our own time, what reports that came late have left for those after them.
inline constexpr std::int64_t carry_ms_max = 30'000;

// A time in which the meter stands: the workload runs, and nobody can reach it.
struct Stand {
    Time from;
    Time until;

    friend bool operator==(const Stand&, const Stand&) = default;
};
// In the order of time, none over another.
using Stands = std::span<const Stand>;
// Whole milliseconds that the meter stood, in the same steps as those that it counts.
std::int64_t stood_ms(Time meter_started_at, Stands stands);
// The sum with what stood since: a stand that begins when the money is over prolongs nothing.
std::int64_t prolonged_by(const Terms& terms, Time meter_started_at, std::int64_t stood_ms,
                          Stands since);

// A time in which a job was not carried, as gates told it; open while that is so.
struct Gap {
    Time from;
    std::optional<Time> until = {};
    // From the one before it: between them it was we who could not hear, which does not count.
    bool goes_on = false;
};
// So much of it is billed, of those that go on together.
inline constexpr Duration stands_after = std::chrono::seconds(60);
// And of one that goes on after an outage of ours, since nobody knows sooner that it does.
inline constexpr Duration heard_again_within = std::chrono::seconds(15);

// What was not carried, as far as it was looked at.
struct Carriage {
    Time looked_until;
    std::optional<Time> uncarried_since = {};
    std::optional<Time> stands_since = {};

    friend bool operator==(const Carriage&, const Carriage&) = default;
};
struct Looked {
    Carriage carriage;
    std::vector<Stand> stands = {};  // since the look before
};
struct Look {
    Time meter_started_at;
    Time now;
    std::optional<Time> meter_stopped_at = {};
};
// From all gaps that ended after the look before, or have not ended, and those that went on in
// them. The meter stands from the second minute of a gap to its end, whoever looks and however
// often.
Looked look_at(const Carriage& before, std::span<const Gap> gaps, const Look& look);

// What a job remembers of the reports it accepted.
struct Meter {
    Time started_at;                       // when READY was accepted, by our clock
    std::int64_t accepted_ms = 0;          // what is billed
    std::int64_t reported_ms = 0;          // the agent's counter at its last accepted report
    Time reported_at;                      // when that came, by our clock
    std::int64_t carry_ms = 0;             // of our time until then, which no report has filled yet
    bool engine_down = false;              // the last word about it
    std::optional<Time> stopped_at = {};   // nothing after this is billed
    std::optional<Time> lease_until = {};  // as it was granted last; none: it was not yet
};
Meter start_meter(Time now);

enum class EngineStatus { unknown, up, down };
struct Report {
    Time at;  // when it came, by our clock
    std::int64_t runtime_ms = 0;
    EngineStatus engine = EngineStatus::unknown;
    bool renews_lease = false;  // a heartbeat
};

// The meter after a report. Nothing after `not_after`, when the funding ends, is billed, nor after
// the time at which a workload without a new lease is gone. A report that brings the agent's
// counter no further (sent twice, overtaken by a later one, from a clock that was set back) changes
// nothing, so that the order and number of reports do not matter; but for one that renews a lease
// which had lapsed: nothing that ran before it is billed later. A word about the engine always
// counts, and nothing is billed across an engine that was down. Of our time, what the meter stood
// since the report before is not there to be filled, and nothing is carried across it.
Meter accept(const Meter& meter, const Report& report, Time not_after, Stands stands = {});

// Of what accept() makes of the report, how much had run by a moment before it.
std::int64_t accepted_by(const Meter& meter, const Report& report, Time not_after, Time by,
                         Stands stands = {});

// Cuts everything after `at`; the earliest cut stays, and nothing is carried beyond it.
Meter stop_meter(const Meter& meter, Time at);

}  // namespace berth::rentals
