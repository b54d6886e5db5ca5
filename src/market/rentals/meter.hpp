// What a rental costs: pure arithmetic over whole milliseconds and micro-units, with products in
// 128 bits. It reads no clock and no table, so that every rule about money can be tried in a table.
//
// Two clocks meet here and are never subtracted from one another: the agent's counter says how long
// the workload ran, ours says how long that can have been. The smaller increase counts, report by
// report, so that neither side alone can make a renter pay for more than elapsed.
#pragma once

#include <cstdint>
#include <optional>

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
FundedThrough funded_through(const Terms& terms, Time meter_started_at);

// What a job remembers of the reports it accepted.
struct Meter {
    Time started_at;                      // when READY was accepted, by our clock
    std::int64_t accepted_ms = 0;         // what is billed
    std::int64_t reported_ms = 0;         // the agent's counter at its last accepted report
    Time reported_at;                     // when that came, by our clock
    bool engine_down = false;             // the last word about it
    std::optional<Time> stopped_at = {};  // nothing after this is billed
};
Meter start_meter(Time now);

enum class EngineStatus { unknown, up, down };
struct Report {
    Time at;  // when it came, by our clock
    std::int64_t runtime_ms = 0;
    EngineStatus engine = EngineStatus::unknown;
};

// The meter after a report; nothing after `not_after`, when the funding ends, is billed. A report
// that brings the agent's counter no further (sent twice, overtaken by a later one, from a clock
// that was set back) changes nothing, so that the order and number of reports do not matter. A word
// about the engine always counts, and nothing is billed across an engine that was down.
Meter accept(const Meter& meter, const Report& report, Time not_after);

// Cuts everything after `at`; the earliest cut stays.
Meter stop_meter(const Meter& meter, Time at);

}  // namespace berth::rentals
