#include "rentals/meter.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace berth::rentals {
namespace {

__extension__ using Wide = unsigned __int128;

Wide wide(std::int64_t value) {
    require(value >= 0, "what is metered is not negative");
    return static_cast<Wide>(value);
}

std::int64_t at_most(Wide value, std::int64_t limit) {
    return value < wide(limit) ? static_cast<std::int64_t>(value) : limit;
}

// Whole milliseconds of our clock since the meter started. Differences of these carry the rest of a
// millisecond from one report to the next instead of dropping it each time.
std::int64_t elapsed_ms(Time started_at, Time at) {
    return std::max<std::int64_t>(0, (at - started_at).count() / 1000);
}

// Where the workload has to be gone when no new lease comes.
bool has_lapsed(const Meter& meter, const Report& report) {
    return meter.lease_until && report.at > *meter.lease_until + gone_after_lease;
}

Time end_of(const Meter& meter, Time not_after) {
    Time end = not_after;
    if (meter.stopped_at) end = std::min(end, *meter.stopped_at);
    if (meter.lease_until) end = std::min(end, *meter.lease_until + gone_after_lease);
    return end;
}

bool turns_engine(const Meter& meter, const Report& report) {
    return report.engine != EngineStatus::unknown &&
           meter.engine_down != (report.engine == EngineStatus::down);
}

bool counts(const Meter& meter, const Report& report) {
    const bool is_news = report.runtime_ms > meter.reported_ms && report.at >= meter.reported_at;
    return is_news || turns_engine(meter, report);
}

// How much of the stands lies between two moments.
std::int64_t stood_between(Time started_at, Stands stands, Time from, Time until) {
    std::int64_t stood = 0;
    for (const Stand& each : stands) {
        const Time begin = std::max(each.from, from);
        const Time end = std::min(each.until, until);
        if (begin < end) stood += elapsed_ms(started_at, end) - elapsed_ms(started_at, begin);
    }
    return stood;
}

bool has_stood(const Meter& meter, const Report& report, Stands stands) {
    return std::any_of(stands.begin(), stands.end(), [&](const Stand& each) {
        return each.from < report.at && each.until > meter.reported_at;
    });
}

// The time of ours that a report may fill: since the one before it, with what that left. What an
// agent counted beyond the end must not fill what was left before it, so that nothing is left then;
// nor must what it counted while the meter stood.
std::int64_t room_ms(const Meter& meter, const Report& report, Time not_after, Time by,
                     Stands stands) {
    const Time end = end_of(meter, not_after);
    const Time until = std::min(by, end);
    const std::int64_t passed = elapsed_ms(meter.started_at, until) -
                                elapsed_ms(meter.started_at, meter.reported_at) -
                                stood_between(meter.started_at, stands, meter.reported_at, until);
    const bool is_alone = report.at > end || has_stood(meter, report, stands);
    return std::max<std::int64_t>(0, passed) + (is_alone ? 0 : meter.carry_ms);
}

}  // namespace

Micro charge_of(const Terms& terms, std::int64_t runtime_ms) {
    const Wide cost = wide(terms.rate_per_hour.value) * wide(runtime_ms) / ms_per_hour;
    return {at_most(cost, terms.budget.value)};
}

std::optional<Micro> estimate_of(const Terms& terms) {
    const Wide cost = wide(terms.rate_per_hour.value) * wide(terms.duration_limit_s) / 3600;
    if (cost > wide(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return Micro{static_cast<std::int64_t>(cost)};
}

std::int64_t funded_ms(const Terms& terms) {
    const std::int64_t limit_ms = terms.duration_limit_s * 1000;
    if (terms.rate_per_hour == Micro{}) return limit_ms;
    const Wide paid = wide(terms.budget.value) * ms_per_hour / wide(terms.rate_per_hour.value);
    return at_most(paid, limit_ms);
}

FundedThrough funded_through(const Terms& terms, Time meter_started_at, std::int64_t stood_ms) {
    const std::int64_t limit_ms = terms.duration_limit_s * 1000;
    const std::int64_t paid_ms = std::min(funded_ms(terms) + stood_ms, limit_ms);
    const bool whole_duration = paid_ms == limit_ms;
    const Time paid_until = meter_started_at + std::chrono::milliseconds(paid_ms);
    if (terms.available_until <= paid_until)
        return {terms.available_until, Limit::availability_ended};
    return {paid_until, whole_duration ? Limit::duration_limit : Limit::funded_expiry};
}

std::int64_t stood_ms(Time meter_started_at, Stands stands) {
    std::int64_t stood = 0;
    for (const Stand& each : stands)
        stood += elapsed_ms(meter_started_at, each.until) - elapsed_ms(meter_started_at, each.from);
    return stood;
}

std::int64_t prolonged_by(const Terms& terms, Time meter_started_at, std::int64_t stood,
                          Stands since) {
    for (const Stand& each : since)
        if (each.from < funded_through(terms, meter_started_at, stood).at)
            stood += stood_ms(meter_started_at, {&each, 1});
    return stood;
}

Looked look_at(const Carriage& before, std::span<const Gap> gaps, const Look& look) {
    Looked looked{.carriage = {.looked_until = std::max(before.looked_until, look.now)}};
    const Time metered_until = std::min(look.meter_stopped_at.value_or(look.now), look.now);
    Duration billed{};  // of the gaps that go on together
    for (const Gap& gap : gaps) {
        if (!gap.goes_on) billed = {};
        const Time since = std::max(gap.from, look.meter_started_at);
        const Time until = std::min(gap.until.value_or(metered_until), metered_until);
        const Time stands_from =
            since + std::max(stands_after - billed, gap.goes_on ? heard_again_within : Duration{});
        const Stand stand{std::max(stands_from, before.looked_until), until};
        if (stand.from < stand.until) looked.stands.push_back(stand);
        if (since < until) billed = std::min(billed + (until - since), stands_after);
        if (gap.until && *gap.until <= look.now) continue;
        looked.carriage.uncarried_since = since;
        if (stands_from <= look.now) looked.carriage.stands_since = stands_from;
    }
    return looked;
}

Meter start_meter(Time now) { return {.started_at = now, .reported_at = now}; }

std::int64_t accepted_by(const Meter& meter, const Report& report, Time not_after, Time by,
                         Stands stands) {
    if (meter.engine_down || !counts(meter, report)) return meter.accepted_ms;
    const std::int64_t by_agent = std::max<std::int64_t>(0, report.runtime_ms - meter.reported_ms);
    return meter.accepted_ms + std::min(by_agent, room_ms(meter, report, not_after, by, stands));
}

Meter accept(const Meter& meter, const Report& report, Time not_after, Stands stands) {
    Meter next = meter;
    const bool is_late = report.renews_lease && has_lapsed(meter, report);
    if (!counts(meter, report) && !is_late) return next;
    next.accepted_ms = accepted_by(meter, report, not_after, report.at, stands);
    next.reported_ms = std::max(meter.reported_ms, report.runtime_ms);
    next.reported_at = std::max(meter.reported_at, report.at);
    if (report.engine != EngineStatus::unknown)
        next.engine_down = report.engine == EngineStatus::down;
    const bool leaves_nothing = meter.engine_down || next.engine_down ||
                                report.at > end_of(meter, not_after) ||
                                has_stood(meter, report, stands);
    const std::int64_t left = room_ms(meter, report, not_after, report.at, stands) -
                              (next.accepted_ms - meter.accepted_ms);
    next.carry_ms = leaves_nothing ? 0 : std::min(carry_ms_max, left);
    return next;
}

Meter stop_meter(const Meter& meter, Time at) {
    Meter next = meter;
    next.stopped_at = meter.stopped_at ? std::min(*meter.stopped_at, at) : at;
    next.carry_ms = 0;
    return next;
}

}  // namespace berth::rentals
