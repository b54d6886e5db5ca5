#include "rentals/states.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/enum_names.hpp"
#include "base/one_of.hpp"
#include "base/problem.hpp"

namespace berth::rentals {
namespace {

using enum JobState;
using enum Effect;

constexpr Effect fails[] = {settle, free_machine, send_clean};
constexpr Effect never_began[] = {settle, free_machine, send_clean};
constexpr Effect calls_off[] = {send_stop};
constexpr Effect begins[] = {start_meter};
constexpr Effect ends[] = {stop_meter, send_stop};
constexpr Effect notices[] = {stop_meter};
constexpr Effect loses[] = {cut_meter, settle, quarantine_machine};
constexpr Effect is_done[] = {settle, free_machine, open_retrieval};
constexpr Effect is_not_confirmed[] = {settle, quarantine_machine};
constexpr Effect cleans[] = {send_clean};
constexpr Effect is_clean[] = {note_cleaned};
constexpr Effect is_dirty[] = {quarantine_machine};

constexpr Guard not_delivered = Guard::start_not_delivered;
constexpr Guard delivered = Guard::start_delivered;
constexpr Guard may_notice = Guard::interruptible_and_not_noticed;

constexpr Transition table[] = {
    {RESERVED, Event::start_accepted, STARTING},
    {RESERVED, Event::start_rejected, FAILED, {}, EndReason::never_ready, fails},
    {RESERVED, Event::start_expired, FAILED, {}, EndReason::never_ready, fails},
    {RESERVED, Event::start_overdue, FAILED, {}, EndReason::never_ready, fails},
    {RESERVED, Event::exited, FAILED, {}, EndReason::never_ready, fails},
    {STARTING, Event::start_rejected, FAILED, {}, EndReason::never_ready, fails},
    {STARTING, Event::start_overdue, FAILED, {}, EndReason::never_ready, fails},
    {STARTING, Event::exited, FAILED, {}, EndReason::never_ready, fails},

    {RESERVED, Event::renter_stop, STOPPED, not_delivered, EndReason::renter_stop, never_began},
    {RESERVED, Event::renter_stop, STOPPING, delivered, EndReason::renter_stop, calls_off},
    {RESERVED, Event::operator_stop, STOPPED, not_delivered, EndReason::operator_stop, never_began},
    {RESERVED, Event::operator_stop, STOPPING, delivered, EndReason::operator_stop, calls_off},
    {RESERVED, Event::custom_images_off, STOPPED, not_delivered, EndReason::custom_images_off,
     never_began},
    {RESERVED, Event::custom_images_off, STOPPING, delivered, EndReason::custom_images_off,
     calls_off},
    {STARTING, Event::renter_stop, STOPPING, {}, EndReason::renter_stop, calls_off},
    {STARTING, Event::operator_stop, STOPPING, {}, EndReason::operator_stop, calls_off},
    {STARTING, Event::custom_images_off, STOPPING, {}, EndReason::custom_images_off, calls_off},

    {STARTING, Event::ready, READY, {}, {}, begins},
    {READY, Event::serve, RUNNING},

    {READY, Event::renter_stop, STOPPING, {}, EndReason::renter_stop, ends},
    {READY, Event::operator_stop, STOPPING, {}, EndReason::operator_stop, ends},
    {READY, Event::funded_expiry, STOPPING, {}, EndReason::funded_expiry, ends},
    {READY, Event::duration_limit, STOPPING, {}, EndReason::duration_limit, ends},
    {READY, Event::availability_ended, STOPPING, {}, EndReason::availability_ended, ends},
    {READY, Event::exited, STOPPING, {}, EndReason::workload_exited, ends},
    {READY, Event::engine_failed, STOPPING, {}, EndReason::engine_failed, ends},
    {READY, Event::preempt_notice, READY, may_notice, {}, notices},
    {READY, Event::host_lost, STOPPED, {}, EndReason::host_lost, loses},
    {READY, Event::gate_lost, STOPPING, {}, EndReason::gate_lost, ends},
    {RUNNING, Event::renter_stop, STOPPING, {}, EndReason::renter_stop, ends},
    {RUNNING, Event::operator_stop, STOPPING, {}, EndReason::operator_stop, ends},
    {RUNNING, Event::funded_expiry, STOPPING, {}, EndReason::funded_expiry, ends},
    {RUNNING, Event::duration_limit, STOPPING, {}, EndReason::duration_limit, ends},
    {RUNNING, Event::availability_ended, STOPPING, {}, EndReason::availability_ended, ends},
    {RUNNING, Event::exited, STOPPING, {}, EndReason::workload_exited, ends},
    {RUNNING, Event::engine_failed, STOPPING, {}, EndReason::engine_failed, ends},
    {RUNNING, Event::preempt_notice, RUNNING, may_notice, {}, notices},
    {RUNNING, Event::funds_low, RUNNING},
    {RUNNING, Event::preempt_deadline, STOPPING, Guard::noticed, EndReason::preempted, ends},
    {RUNNING, Event::host_lost, STOPPED, {}, EndReason::host_lost, loses},
    {RUNNING, Event::gate_lost, STOPPING, {}, EndReason::gate_lost, ends},

    {STOPPING, Event::stopped, STOPPED, {}, {}, is_done},
    {STOPPING, Event::stop_overdue, STOPPED, {}, {}, is_not_confirmed},
    {STOPPING, Event::host_lost, STOPPED, {}, EndReason::host_lost, loses},

    {STOPPED, Event::retrieval_over, STOPPED, {}, {}, cleans},
    {STOPPED, Event::cleaned, CLOSED, {}, {}, is_clean},
    {STOPPED, Event::clean_overdue, CLOSED, {}, {}, is_dirty},
    {STOPPED, Event::quarantined, CLOSED},
    {FAILED, Event::cleaned, FAILED, {}, {}, is_clean},
    {FAILED, Event::clean_overdue, FAILED, {}, {}, is_dirty},
    {CLOSED, Event::cleaned, CLOSED, {}, {}, is_clean},
};

bool holds(Guard guard, const Facts& facts) {
    switch (guard) {
        case Guard::always: return true;
        case Guard::start_not_delivered: return !facts.start_delivered;
        case Guard::start_delivered: return facts.start_delivered;
        case Guard::interruptible_and_not_noticed:
            return facts.is_interruptible && !facts.is_noticed;
        case Guard::noticed: return facts.is_noticed;
    }
    return false;
}

const Transition* look_up(JobState from, Event event, const Facts& facts) {
    const auto found = std::find_if(std::begin(table), std::end(table), [&](const auto& line) {
        return line.from == from && line.event == event && holds(line.guard, facts);
    });
    return found == std::end(table) ? nullptr : found;
}

// A word of the code as people write it.
std::string spaced(std::string_view name) {
    std::string text(name);
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

}  // namespace

bool Transition::has(Effect effect) const {
    return std::find(effects.begin(), effects.end(), effect) != effects.end();
}

std::span<const Transition> transitions() { return table; }

const Transition& find(JobState from, Event event, const Facts& facts) {
    const Transition* line = look_up(from, event, facts);
    if (line == nullptr)
        throw Problem(Code::conflict, fmt::format("a job that is {} cannot take this: {}",
                                                  enum_name(from), in_words(event)));
    return *line;
}

bool allows(JobState from, Event event, const Facts& facts) {
    return look_up(from, event, facts) != nullptr;
}

bool is_before_ready(JobState state) { return is_one_of(state, states_before_ready); }

bool is_metered(JobState state) { return is_one_of(state, metered_states); }

bool is_live(JobState state) { return is_one_of(state, live_states); }

bool is_over(JobState state) { return is_one_of(state, over_states); }
bool is_open(JobState state) { return is_one_of(state, open_states); }

std::string in_words(Event event) { return spaced(enum_name(event)); }

std::string readme_table_of_states() {
    std::string text =
        "| from | event | guard | to | end_reason | with it |\n| --- | --- | --- | --- | --- | --- "
        "|\n";
    for (const Transition& line : table) {
        std::string effects;
        for (const Effect effect : line.effects)
            effects += (effects.empty() ? "" : ", ") + spaced(enum_name(effect));
        text += fmt::format(
            "| {} | {} | {} | {} | {} | {} |\n", enum_name(line.from), in_words(line.event),
            line.guard == Guard::always ? "" : spaced(enum_name(line.guard)), enum_name(line.to),
            line.reason ? fmt::format("`{}`", enum_name(*line.reason)) : "", effects);
    }
    return text;
}

}  // namespace berth::rentals
