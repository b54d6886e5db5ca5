#include "simulation/plain_model.hpp"

#include <algorithm>

namespace berth::simulation {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Moment second = 1'000'000;
constexpr Moment day = 86'400 * second;
constexpr Moment taken_up_within = 120 * second;
constexpr Moment progress_within = 900 * second;
constexpr Moment heard_within = 300 * second;
constexpr Moment engine_back_within = 300 * second;
constexpr Moment confirmed_within = 300 * second;
constexpr Moment carried_within = 900 * second;
constexpr Moment dark_but_billed = 60 * second;
constexpr Moment gate_heard_within = 15 * second;
constexpr Moment outage = 15 * second;
constexpr Moment lease = 90 * second;
constexpr Moment gone_after_lease = 300 * second;  // a workload, by itself
constexpr Moment clocks_apart = 5 * second;
constexpr std::int64_t spare_ms_max = 30'000;

// a × b / c, rounded down and at most `limit`.
std::int64_t share(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t limit) {
    const Wide value = static_cast<Wide>(a) * static_cast<Wide>(b) / static_cast<Wide>(c);
    return value > static_cast<Wide>(limit) ? limit : static_cast<std::int64_t>(value);
}

// Whole milliseconds from the beginning of the meter to a moment.
std::int64_t ms_until(const Bill& bill, Moment at) {
    return at <= *bill.ready_at ? 0 : (at - *bill.ready_at) / 1000;
}

// How many of them are in these stretches, between two moments.
std::int64_t ms_within(const Bill& bill, const std::vector<Stretch>& stretches, Moment from,
                       Moment until) {
    std::int64_t ms = 0;
    for (const Stretch& one : stretches) {
        const Moment begin = std::max(one.from, from);
        const Moment end = std::min(one.until, until);
        if (begin < end) ms += ms_until(bill, end) - ms_until(bill, begin);
    }
    return ms;
}

}  // namespace

std::int64_t Bill::charge() const { return share(deal.rate, billed_ms, 3'600'000, deal.budget); }

std::int64_t Bill::fee() const { return share(charge(), deal.fee_bps, 10'000, charge()); }

std::int64_t Bill::charge_before(std::int64_t day_number) const {
    std::int64_t ms = 0;
    for (const auto& [number, ran] : ms_on)
        if (number < day_number) ms += ran;
    return share(deal.rate, ms, 3'600'000, deal.budget);
}

// What was not billed is there to be spent later; a stretch that begins when all is spent is none.
Moment PlainModel::paid_until(const Bill& one, Moment now) const {
    const Deal& deal = one.deal;
    const std::int64_t whole_ms = deal.duration_s * 1000;
    std::int64_t ms =
        deal.rate == 0 ? whole_ms : share(deal.budget, 3'600'000, deal.rate, whole_ms);
    ms += one.unbilled_ms;
    for (const Stretch& stretch : unbilled(one, now)) {
        const Moment from = std::max(stretch.from, one.counter_at);
        if (from < stretch.until && from < *one.ready_at + ms * 1000)
            ms += ms_until(one, stretch.until) - ms_until(one, from);
    }
    return std::min(deal.available_until, *one.ready_at + std::min(ms, whole_ms) * 1000);
}

Moment PlainModel::runs_until(const Bill& one, Moment now) const {
    if (!one.notice_until) return paid_until(one, now);
    return std::min(*one.notice_until, *one.ready_at + one.deal.duration_s * second);
}

void PlainModel::gets_doors(const std::string& job, Moment now) {
    Bill& one = bill(job);
    if (!one.has_doors) one.dark_since = now;
    one.has_doors = true;
}

void PlainModel::doors_move(const std::string& job, Moment now) {
    Bill& one = bill(job);
    one.dark_since = dark_since(one, now).value_or(now);
}

void PlainModel::gate_says(const std::string& job, bool linked, Moment now) {
    Bill& one = bill(job);
    if (one.stage == Stage::over) return;
    const auto since = dark_since(one, now);
    if (!linked) {
        one.dark_since = since.value_or(now);
        return;
    }
    if (since) one.dark.push_back({*since, now});
    one.dark_since.reset();
    one.gate_heard_at = now;
}

// A gate of which nothing is heard carries nothing since its last word; but it may be we who could
// not hear.
std::optional<Moment> PlainModel::dark_since(const Bill& one, Moment now) const {
    if (!one.has_doors || one.dark_since) return one.dark_since;
    const Moment quiet_since = std::max(one.gate_heard_at, up_since_);
    if (quiet_since + gate_heard_within >= now) return std::nullopt;
    return one.gate_heard_at;
}

// What of a stretch was while the service could hear.
std::vector<Stretch> PlainModel::heard(const Stretch& whole) const {
    std::vector<Stretch> parts{whole};
    for (const Stretch& deaf : deaf_) {
        std::vector<Stretch> rest;
        for (const Stretch& part : parts) {
            const Stretch before{part.from, std::min(part.until, deaf.from)};
            const Stretch after{std::max(part.from, deaf.until), part.until};
            if (before.from < before.until) rest.push_back(before);
            if (after.from < after.until) rest.push_back(after);
        }
        parts.swap(rest);
    }
    return parts;
}

bool PlainModel::is_deaf_until(Moment moment) const {
    return std::any_of(deaf_.begin(), deaf_.end(),
                       [&](const Stretch& deaf) { return deaf.until == moment; });
}

std::vector<Stretch> PlainModel::unbilled(const Bill& one, Moment now) const {
    std::vector<Stretch> list;
    if (!one.has_doors || !one.ready_at) return list;
    const Moment end = std::min(now, one.stopped_at.value_or(now));
    std::vector<Stretch> dark = one.dark;
    if (const auto since = dark_since(one, now)) dark.push_back({*since, now});
    for (const Stretch& each : dark) {
        Moment still_billed = dark_but_billed;  // in all of its parts together
        for (const Stretch& part : heard({std::max(each.from, *one.ready_at), each.until})) {
            const Moment until = std::min(part.until, end);
            if (part.from >= until) continue;
            // After the service was deaf a gate has its time to be heard again.
            const Moment at_least =
                part.from > each.from && is_deaf_until(part.from) ? gate_heard_within : Moment{0};
            const Stretch late{part.from + std::max(still_billed, at_least), until};
            if (late.from < late.until) list.push_back(late);
            still_billed -= std::min(still_billed, until - part.from);
        }
    }
    return list;
}

void PlainModel::reserves(const std::string& job, const Deal& deal, Moment now) {
    bills_[job] = {.deal = deal, .since = now};
    live_.push_back(job);
    jobs_of_[deal.renter].push_back(job);
}

std::string PlainModel::job_on(const std::string& machine) const {
    for (const std::string& job : live_) {
        const Bill& one = at(job);
        if (one.deal.machine == machine && one.stage != Stage::over) return job;
    }
    return "";
}

void PlainModel::accepts(const std::string& job, const Start& start, Moment now) {
    Bill& one = bill(job);
    if (one.stage != Stage::reserved) return;
    one.stage = Stage::starting;
    one.since = one.accepted_at = now;
    one.start_deadline_s = start.deadline_s;
    one.engine_counts = start.engine_counts;
    one.is_hosts_to_run = start.is_hosts_to_run;
    one.promised = start.promised;
}

void PlainModel::rejects(const std::string& job) {
    Bill& one = bill(job);
    if (one.stage == Stage::reserved || one.stage == Stage::starting)
        finish(job, one, "never_ready");
}

void PlainModel::progresses(const std::string& job, Moment now) {
    Bill& one = bill(job);
    if (one.stage == Stage::starting) one.since = now;
}

bool PlainModel::may_be_ready(const std::string& job, const std::set<std::string>& reached) const {
    const std::set<std::string>& promised = at(job).promised;
    return std::includes(reached.begin(), reached.end(), promised.begin(), promised.end());
}

void PlainModel::is_ready(const std::string& job, const std::string& workload, Moment now) {
    Bill& one = bill(job);
    one.stage = Stage::running;
    one.ready_at = one.counter_at = one.seen_at = one.captured_at = now;
    one.workload = workload;
    one.leased_until = now + lease;
}

// The first that is heard on a new day closes the page of the one before.
void PlainModel::count(Bill& one, const Report& report, Moment now) const {
    take_down(one, report, now);
    if (now / day == one.captured_at / day) return;
    one.captured = one.charge_before(now / day);
    one.captured_at = now;
}

// Writes what was billed on the pages of the days on which it ran: the first of the time that
// passed since the report before, and what that had left before it.
void PlainModel::write_pages(Bill& one, std::int64_t ran_ms, Moment end, std::int64_t spare_ms,
                             const std::vector<Stretch>& nothing_for) const {
    Moment from = one.counter_at;
    while (ran_ms > 0) {
        const Moment page_ends = (from / day + 1) * day;
        const Moment until = std::min(page_ends, end);
        const std::int64_t room = ms_until(one, until) - ms_until(one, from) -
                                  ms_within(one, nothing_for, from, until) + spare_ms;
        spare_ms = 0;
        const std::int64_t part = page_ends < end ? std::min(room, ran_ms) : ran_ms;
        one.ms_on[from / day] += part;
        ran_ms -= part;
        from = page_ends;
    }
}

void PlainModel::take_down(Bill& one, const Report& report, Moment now) const {
    const bool turns = one.engine_counts && report.engine != Engine::silent &&
                       (report.engine == Engine::down) != one.engine_down_at.has_value();
    const Moment gone_at = one.leased_until + gone_after_lease;
    if (report.runtime_ms <= one.counter_ms && !turns) {
        // What was not said by now is not said of the time without a lease.
        if (report.renews_lease && now > gone_at) {
            one.unbilled_ms += ms_within(one, unbilled(one, now), one.counter_at, now);
            one.counter_at = now;
            one.spare_ms = 0;
        }
        return;
    }
    const std::vector<Stretch> nothing_for = unbilled(one, now);
    const std::int64_t dark_ms = ms_within(one, nothing_for, one.counter_at, now);
    Moment end = std::min({now, gone_at, paid_until(one, now)});
    if (one.stopped_at) end = std::min(end, *one.stopped_at);
    if (end < now || dark_ms > 0) one.spare_ms = 0;
    const std::int64_t said = std::max<std::int64_t>(0, report.runtime_ms - one.counter_ms);
    const std::int64_t passed =
        std::max<std::int64_t>(0, ms_until(one, end) - ms_until(one, one.counter_at) -
                                      ms_within(one, nothing_for, one.counter_at, end)) +
        one.spare_ms;
    const std::int64_t counts = one.engine_down_at ? 0 : std::min(said, passed);
    one.billed_ms += counts;
    write_pages(one, counts, end, one.spare_ms, nothing_for);
    one.unbilled_ms += dark_ms;
    const bool is_broken =
        one.engine_down_at || dark_ms > 0 || (turns && report.engine == Engine::down);
    one.spare_ms = is_broken || end < now ? 0 : std::min(spare_ms_max, passed - counts);
    one.counter_ms = std::max(one.counter_ms, report.runtime_ms);
    one.counter_at = now;
    if (!turns) return;
    if (report.engine == Engine::down)
        one.engine_down_at = now;
    else
        one.engine_down_at.reset();
}

void PlainModel::reports(const std::string& job, const Report& report, Moment now) {
    Bill& one = bill(job);
    if (one.stage == Stage::over) return;
    one.seen_at = now;
    if (!one.ready_at) return;
    if (report.workload != one.workload) return finish(job, one, "host_lost");
    count(one, report, now);
    if (report.renews_lease && one.stage == Stage::running) one.leased_until = now + lease;
}

void PlainModel::notices(const std::string& job, Moment now) {
    Bill& one = bill(job);
    one.stopped_at = std::min(one.stopped_at.value_or(now), now);
    one.spare_ms = 0;
    one.notice_until = now + one.deal.notice_s.value_or(0) * second;
    one.seen_at = now;
}

void PlainModel::stop(Bill& one, const std::string& reason, Moment at, Moment now) {
    one.stage = Stage::stopping;
    one.reason = reason;
    one.since = now;
    one.spare_ms = 0;
    if (one.ready_at) one.stopped_at = std::min(one.stopped_at.value_or(at), at);
}

void PlainModel::stops(const std::string& job, bool was_delivered, Moment now) {
    Bill& one = bill(job);
    if (one.stage == Stage::stopping || one.stage == Stage::over) return;
    if (one.stage == Stage::reserved && !was_delivered) return finish(job, one, "renter_stop");
    stop(one, "renter_stop", now, now);
}

void PlainModel::ends(const std::string& job, const std::optional<Report>& report, bool stopped,
                      Moment now) {
    Bill& one = bill(job);
    if (one.stage == Stage::over) return;
    one.seen_at = now;
    if (one.stage == Stage::reserved || one.stage == Stage::starting)
        return finish(job, one, "never_ready");
    if (report && one.ready_at) {
        if (report->workload != one.workload) return finish(job, one, "host_lost");
        count(one, *report, now);
    }
    if (one.stage == Stage::running) {
        const Moment end = runs_until(one, now);
        // By then it had to be gone, since nobody could be heard.
        const bool is_unheard = now + clocks_apart > one.leased_until + gone_after_lease;
        if (end <= now)
            stop(one, "paid", end, now);
        else
            stop(one, one.is_hosts_to_run && !is_unheard ? "engine_failed" : "workload_exited", now,
                 now);
    }
    if (stopped) finish(job, one, "");
}

void PlainModel::finish(const std::string& job, Bill& one, const std::string& reason) {
    one.stage = Stage::over;
    if (!reason.empty()) one.reason = reason;
    one.captured = one.charge();
    ended_.push_back(job);
}

PlainModel::Next PlainModel::next(const Bill& one, Moment now) const {
    Next first;
    const auto consider = [&](Moment at, Due due) {
        if (first.due == Due::none || at < first.at) first = {at, due};
    };
    const auto patience = [&](Moment since, Moment span, Due due) {
        consider(std::max(since, up_since_) + span, due);
    };
    switch (one.stage) {
        case Stage::reserved: patience(one.since, taken_up_within, Due::never_ready); break;
        case Stage::starting:
            patience(one.since, progress_within, Due::never_ready);
            patience(one.accepted_at, one.start_deadline_s * second, Due::never_ready);
            break;
        case Stage::running:
            consider(runs_until(one, now), Due::paid);
            if (one.engine_down_at) patience(*one.engine_down_at, engine_back_within, Due::engine);
            patience(one.seen_at, heard_within, Due::lost);
            // What was dark before the service was deaf does not count.
            if (one.has_doors && dark_since(one, now))
                patience(std::max(*dark_since(one, now), *one.ready_at), carried_within, Due::gate);
            break;
        case Stage::stopping:
            patience(one.since, confirmed_within, Due::unconfirmed);
            if (one.ready_at) patience(one.seen_at, heard_within, Due::lost);
            break;
        case Stage::over: break;
    }
    return first;
}

void PlainModel::looks(Moment now) {
    if (now - looked_at_ > outage) {
        deaf_.push_back({looked_at_, now});
        up_since_ = now;
    }
    looked_at_ = now;
    for (const std::string& job : live_) {
        Bill& one = bill(job);
        for (Next due = next(one, now); due.due != Due::none && due.at <= now;
             due = next(one, now)) {
            if (due.due == Due::paid) {
                stop(one, "paid", due.at, now);
            } else if (due.due == Due::engine) {
                stop(one, "engine_failed", due.at, now);
            } else if (due.due == Due::gate) {
                stop(one, "gate_lost", due.at, now);
            } else if (due.due == Due::lost) {
                finish(job, one, "host_lost");
            } else {
                finish(job, one, due.due == Due::never_ready ? "never_ready" : "");
            }
        }
    }
    std::erase_if(live_, [&](const std::string& job) { return at(job).stage == Stage::over; });
}

std::vector<std::string> PlainModel::take_ended() {
    std::vector<std::string> ended;
    ended.swap(ended_);
    return ended;
}

std::int64_t PlainModel::available(const std::string& renter) const {
    std::int64_t left = funds_.at(renter);
    const auto jobs = jobs_of_.find(renter);
    if (jobs == jobs_of_.end()) return left;
    for (const std::string& job : jobs->second) {
        const Bill& one = at(job);
        left -= one.stage == Stage::over ? one.captured : one.deal.budget;
    }
    return left;
}

std::map<std::string, PlainModel::Account> PlainModel::accounts() const {
    std::map<std::string, Account> all;
    for (const auto& [renter, amount] : funds_) all[renter].available += amount;
    for (const auto& [job, one] : bills_) {
        const bool is_over = one.stage == Stage::over;
        const std::int64_t held = is_over ? 0 : one.deal.budget - one.captured;
        all[one.deal.renter].available -= one.captured + held;
        all[one.deal.renter].held += held;
        const std::int64_t fee = share(one.captured, one.deal.fee_bps, 10'000, one.captured);
        all[one.deal.host].payable += one.captured - fee;
    }
    return all;
}

std::map<PlainModel::HostDay, std::int64_t> PlainModel::earnings() const {
    std::map<HostDay, std::int64_t> all;
    for (const auto& [job, one] : bills_) {
        const auto earned_before = [&bill = one](std::int64_t number) {
            const std::int64_t charge = bill.charge_before(number);
            return charge - share(charge, bill.deal.fee_bps, 10'000, charge);
        };
        for (const auto& [number, ran] : one.ms_on)
            if (one.stage == Stage::over || number < one.captured_at / day)
                all[{one.deal.host, number}] += earned_before(number + 1) - earned_before(number);
    }
    return all;
}

}  // namespace berth::simulation
