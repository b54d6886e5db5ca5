#include "rentals/states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/enum_names.hpp"
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
    {RUNNING, Event::renter_stop, STOPPING, {}, EndReason::renter_stop, ends},
    {RUNNING, Event::operator_stop, STOPPING, {}, EndReason::operator_stop, ends},
    {RUNNING, Event::funded_expiry, STOPPING, {}, EndReason::funded_expiry, ends},
    {RUNNING, Event::duration_limit, STOPPING, {}, EndReason::duration_limit, ends},
    {RUNNING, Event::availability_ended, STOPPING, {}, EndReason::availability_ended, ends},
    {RUNNING, Event::exited, STOPPING, {}, EndReason::workload_exited, ends},
    {RUNNING, Event::engine_failed, STOPPING, {}, EndReason::engine_failed, ends},
    {RUNNING, Event::preempt_notice, RUNNING, may_notice, {}, notices},
    {RUNNING, Event::preempt_deadline, STOPPING, Guard::noticed, EndReason::preempted, ends},
    {RUNNING, Event::host_lost, STOPPED, {}, EndReason::host_lost, loses},

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

constexpr Patience waits[] = {
    {RESERVED, Event::start_expired, Wait::agent, "reserved", "120 s"},
    {STARTING, Event::start_overdue, Wait::agent, "last progress", "900 s"},
    {STARTING, Event::start_overdue, Wait::agent, "accepted", "start_deadline_s"},
    {RUNNING, Event::funded_expiry, Wait::exact, "READY", "what the budget pays for"},
    {RUNNING, Event::duration_limit, Wait::exact, "READY", "duration_limit_s"},
    {RUNNING, Event::availability_ended, Wait::exact, "–", "available_until"},
    {RUNNING, Event::preempt_deadline, Wait::exact, "notice", "preemption_notice_s"},
    {RUNNING, Event::engine_failed, Wait::agent, "engine down", "300 s"},
    {RUNNING, Event::host_lost, Wait::agent, "last heartbeat", "300 s"},
    {STOPPING, Event::host_lost, Wait::agent, "last heartbeat", "300 s"},
    {STOPPING, Event::stop_overdue, Wait::agent, "stopping", "300 s"},
    {STOPPED, Event::retrieval_over, Wait::exact, "stopped", "900 s"},
    {STOPPED, Event::clean_overdue, Wait::agent, "CLEAN", "900 s"},
    {FAILED, Event::clean_overdue, Wait::agent, "CLEAN", "900 s"},
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

Event event_of(Limit limit) {
    switch (limit) {
        case Limit::funded_expiry: return Event::funded_expiry;
        case Limit::duration_limit: return Event::duration_limit;
        case Limit::availability_ended: break;
    }
    return Event::availability_ended;
}

bool Transition::has(Effect effect) const {
    return std::find(effects.begin(), effects.end(), effect) != effects.end();
}

std::span<const Transition> transitions() { return table; }

std::span<const Patience> patience() { return waits; }

const Transition& find(JobState from, Event event, const Facts& facts) {
    const Transition* line = look_up(from, event, facts);
    if (line == nullptr)
        throw Problem(Code::conflict, fmt::format("a job that is {} cannot take this: {}",
                                                  enum_name(from), spaced(enum_name(event))));
    return *line;
}

bool allows(JobState from, Event event, const Facts& facts) {
    return look_up(from, event, facts) != nullptr;
}

bool is_before_ready(JobState state) { return state == RESERVED || state == STARTING; }

bool is_metered(JobState state) { return state == READY || state == RUNNING; }

bool is_over(JobState state) { return state == STOPPED || state == FAILED || state == CLOSED; }

std::string picture() {
    std::string text =
        "| from | event | guard | to | end_reason | with it |\n| --- | --- | --- | --- | --- | --- "
        "|\n";
    for (const Transition& line : table) {
        std::string effects;
        for (const Effect effect : line.effects)
            effects += (effects.empty() ? "" : ", ") + spaced(enum_name(effect));
        text += fmt::format(
            "| {} | {} | {} | {} | {} | {} |\n", enum_name(line.from),
            spaced(enum_name(line.event)),
            line.guard == Guard::always ? "" : spaced(enum_name(line.guard)), enum_name(line.to),
            line.reason ? fmt::format("`{}`", enum_name(*line.reason)) : "", effects);
    }
    text += "\n| in | after | since | then | counts |\n| --- | --- | --- | --- | --- |\n";
    for (const Patience& wait : waits)
        text += fmt::format(
            "| {} | {} | {} | {} | {} |\n", enum_name(wait.state), wait.span, wait.since,
            spaced(enum_name(wait.event)),
            wait.wait == Wait::agent ? "only time in which the service was up" : "all time");
    return text;
}

}  // namespace berth::rentals
