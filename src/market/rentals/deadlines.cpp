#include "rentals/deadlines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/enum_names.hpp"

namespace berth::rentals {
namespace {

using enum JobState;

constexpr Counts all_time = Counts::all_time;
constexpr Counts time_up = Counts::time_up;

constexpr Deadline deadline_table[] = {
    {RESERVED, Event::start_expired, time_up, &JobLive::waiting_since, start_expires_after},

    {STARTING, Event::start_overdue, time_up, &JobLive::waiting_since, progress_expected_within},
    {STARTING, Event::start_overdue, time_up, &JobLive::accepted_at, &JobTerms::start_deadline_s},

    {.state = RUNNING,
     .event = Event::preempt_deadline,
     .counts = all_time,
     .since = &JobLive::notice_at,
     .span = &JobTerms::preemption_notice_s,
     .told_in = &JobLive::notice_until},
    // After the notice nothing is billed any more, and the host has said itself when it ends.
    {.state = RUNNING,
     .event = Event::availability_ended,
     .counts = all_time,
     .since = &JobTerms::available_until,
     .span = Duration{},
     .only_without = &JobLive::notice_until},
    {RUNNING, Event::duration_limit, all_time, &JobLive::meter_started_at,
     &JobTerms::duration_limit_s},
    {.state = RUNNING,
     .event = Event::funded_expiry,
     .counts = all_time,
     .since = &JobLive::meter_started_at,
     .span = FundedTime{},
     .only_without = &JobLive::notice_until},
    {.state = RUNNING,
     .event = Event::funds_low,
     .counts = all_time,
     .since = &JobLive::meter_started_at,
     .span = FundsLowTime{},
     .only_without = &JobLive::funds_low_at},
    {RUNNING, Event::engine_failed, time_up, &JobLive::engine_down_at, engine_failed_after},
    {RUNNING, Event::engine_failed, time_up, &JobLive::gpu_lost_at, engine_failed_after},
    {RUNNING, Event::host_lost, time_up, &JobLive::seen_at, host_lost_after},
    {RUNNING, Event::gate_lost, time_up, &JobLive::uncarried_since, gate_lost_after},

    {STOPPING, Event::stop_overdue, time_up, &JobLive::waiting_since, stop_confirmed_within},
    {.state = STOPPING,
     .event = Event::host_lost,
     .counts = time_up,
     .since = &JobLive::seen_at,
     .span = host_lost_after,
     .only_with = &JobLive::meter_started_at},

    {.state = STOPPED,
     .event = Event::retrieval_over,
     .counts = all_time,
     .since = &JobLive::ended_at,
     .span = RetrievalTime{},
     .told_in = &JobLive::retrieval_until},
    {STOPPED, Event::clean_overdue, time_up, &JobLive::clean_sent_at, cleaned_within},
    {FAILED, Event::clean_overdue, time_up, &JobLive::clean_sent_at, cleaned_within},
};

template <class... Case>
struct Overloaded : Case... {
    using Case::operator()...;
};
template <class... Case>
Overloaded(Case...) -> Overloaded<Case...>;  // clang 14 does not find it by itself

std::optional<Time> moment_of(const JobRow& job, const Moment& moment) {
    return std::visit(
        Overloaded{[&](Time JobLive::*member) { return std::optional(job.live.*member); },
                   [&](OptionalMoment member) { return job.live.*member; },
                   [&](Time JobTerms::*member) { return std::optional(job.terms.*member); }},
        moment);
}

Duration span_of(const JobRow& job, const Span& span) {
    using std::chrono::seconds;
    return std::visit(
        Overloaded{
            [](Duration constant) { return constant; },
            [&](std::int64_t JobTerms::*member) { return Duration(seconds(job.terms.*member)); },
            [&](std::optional<std::int64_t> JobTerms::*member) {
                return Duration(seconds((job.terms.*member).value_or(0)));
            },
            [&](RetrievalTime) {
                return std::clamp<Duration>(std::chrono::milliseconds(job.live.accepted_ms),
                                            seconds(job.terms.retrieval_min_s), retrieval_max);
            },
            [&](FundedTime) {
                return Duration(
                    std::chrono::milliseconds(funded_ms(terms_of(job)) + job.live.stood_ms));
            },
            [&](FundsLowTime) {
                const Duration all = std::chrono::milliseconds(funded_ms(terms_of(job)));
                return all + std::chrono::milliseconds(job.live.stood_ms) -
                       std::min<Duration>(std::max<Duration>(all / 10, funds_low_before), all / 2);
            }},
        span);
}

// Whether more money would let it run for longer.
bool is_ended_by_budget(const JobRow& job) {
    return !job.live.notice_until && job.live.meter_started_at &&
           funded_through(terms_of(job), *job.live.meter_started_at, job.live.stood_ms).limit ==
               Limit::funded_expiry;
}

std::optional<Time> time_of(const Deadline& deadline, const JobRow& job, Time up_since) {
    if (deadline.only_with && !(job.live.*deadline.only_with)) return std::nullopt;
    if (deadline.only_without && job.live.*deadline.only_without) return std::nullopt;
    if (std::holds_alternative<FundsLowTime>(deadline.span) && !is_ended_by_budget(job))
        return std::nullopt;
    if (deadline.told_in) return job.live.*deadline.told_in;
    auto since = moment_of(job, deadline.since);
    if (!since) return std::nullopt;
    if (deadline.counts == Counts::time_up) since = std::max(*since, up_since);
    return *since + span_of(job, deadline.span);
}

template <class Counted>
std::optional<Due> first_due(const JobRow& job, JobState state, Time up_since,
                             const Counted& is_counted) {
    std::optional<Due> first;
    for (const Deadline& each : deadline_table) {
        if (each.state != state || !is_counted(each)) continue;
        const auto at = time_of(each, job, up_since);
        if (at && (!first || *at < first->at)) first = Due{*at, each.event};
    }
    return first;
}

bool is_change(const Deadline& each) { return each.event != Event::funds_low; }

JobState deadline_state(const JobRow& job) {
    // One without it is broken, and is not ended as if it had cost nothing.
    require(!is_metered(job.live.state) || job.live.meter_started_at.has_value(),
            "what is metered has begun to be");
    // READY becomes RUNNING in the same transaction.
    return job.live.state == READY ? RUNNING : job.live.state;
}

template <class Member, template <class...> class List, class... Each>
std::string_view find_name(Member member, List<Each...>) {
    std::string_view name;
    const auto compare = [&](auto each) {
        if constexpr (std::is_same_v<std::remove_cv_t<decltype(each.pointer)>, Member>)
            if (each.pointer == member) name = each.name;
    };
    (compare(Each{}), ...);
    return name;
}

// The name of a member as its row is described.
template <class Row, class Value>
std::string name_of(Value Row::*member) {
    const auto name =
        find_name(member, boost::describe::describe_members<Row, boost::describe::mod_public>{});
    require(!name.empty(), "a deadline names a member that is described");
    return fmt::format("`{}`", name);
}

std::string words_of(const Span& span) {
    return std::visit(Overloaded{[](Duration constant) {
                                     return fmt::format("{} s", constant / std::chrono::seconds(1));
                                 },
                                 [](FundedTime) { return std::string("what the budget pays for"); },
                                 [](FundsLowTime) {
                                     return fmt::format(
                                         "what the budget pays for, less a tenth or {} s",
                                         funds_low_before / std::chrono::seconds(1));
                                 },
                                 [](RetrievalTime) {
                                     return fmt::format(
                                         "as long as was billed, `retrieval_min_s` "
                                         "to {} s",
                                         retrieval_max / std::chrono::seconds(1));
                                 },
                                 [](auto member) { return name_of(member); }},
                      span);
}

std::string condition_of(const Deadline& deadline) {
    if (deadline.only_with) return "with " + name_of(deadline.only_with);
    if (deadline.only_without) return "without " + name_of(deadline.only_without);
    return "";
}

}  // namespace

std::span<const Deadline> deadlines() { return deadline_table; }

std::optional<Due> next_due(const JobRow& job, Time up_since) {
    return first_due(job, deadline_state(job), up_since, [](const Deadline&) { return true; });
}

std::optional<Due> next_change(const JobRow& job, Time up_since) {
    return first_due(job, deadline_state(job), up_since, is_change);
}

Time time_to_tell(const JobRow& job, Event event) {
    const auto found =
        std::find_if(std::begin(deadline_table), std::end(deadline_table),
                     [&](const Deadline& each) { return each.event == event && each.told_in; });
    require(found != std::end(deadline_table), "people are told of this deadline");
    const auto since = moment_of(job, found->since);
    require(since.has_value(), "a deadline that begins has its beginning");
    return *since + span_of(job, found->span);
}

std::optional<Due> funding_end(const JobRow& job) {
    if (!job.live.meter_started_at) return std::nullopt;
    return first_due(job, RUNNING, Time{}, [](const Deadline& each) {
        return each.counts == Counts::all_time && is_change(each);
    });
}

std::optional<Time> funded_through(const JobRow& job) {
    const auto end = funding_end(job);
    return end ? std::optional(end->at) : std::nullopt;
}

Terms terms_of(const JobRow& job) {
    return {job.terms.rate, job.live.budget, job.terms.duration_limit_s, job.terms.available_until};
}

std::string readme_table_of_deadlines() {
    std::string text =
        "| in | after | since | then | only | counts |\n"
        "| --- | --- | --- | --- | --- | --- |\n";
    for (const Deadline& each : deadline_table)
        text += fmt::format(
            "| {} | {} | {} | {} | {} | {} |\n", enum_name(each.state), words_of(each.span),
            std::visit([](auto member) { return name_of(member); }, each.since),
            in_words(each.event), condition_of(each),
            each.counts == Counts::time_up ? "only time in which the service was up" : "all time");
    return text;
}

}  // namespace berth::rentals
