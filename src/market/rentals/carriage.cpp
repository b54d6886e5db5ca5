#include "rentals/carriage.hpp"

#include <fmt/format.h>

#include "gates/gates.hpp"
#include "rentals/deadlines.hpp"
#include "rentals/evidence.hpp"
#include "rentals/told.hpp"

namespace berth::rentals {
namespace {

static_assert(heard_again_within == gates::gate_fresh);

bool is_carried_by_gate(const JobRow& job) {
    return job.terms.is_by_gate() && job.live.meter_started_at && !is_over(job.live.state);
}

// Changes the row in memory alone; gives the stands since the look before.
std::vector<Stand> look(db::Transaction& tx, JobRow& job, Time now) {
    JobLive& live = job.live;
    const Time started = live.meter_started_at.value();
    const Carriage before{live.carriage_at.value_or(started), live.uncarried_since,
                          live.stands_since};
    if (now < before.looked_until) return {};  // another server's clock is ahead of ours
    std::vector<Gap> gaps;
    for (const gates::Gap& gap : gates::gaps_of_job(tx, live.job_id, before.looked_until, now))
        gaps.push_back({gap.from, gap.to, gap.goes_on});
    Looked looked = look_at(before, gaps, {started, now, live.meter_stopped_at});
    live.carriage_at = looked.carriage.looked_until;
    live.uncarried_since = looked.carriage.uncarried_since;
    live.stands_since = looked.carriage.stands_since;
    live.stood_ms = prolonged_by(terms_of(job), started, live.stood_ms, looked.stands);
    return std::move(looked.stands);
}

void note_turn(const db::Context& context, JobRow& job, bool stands) {
    JobLive& live = job.live;
    const Time since = stands ? live.uncarried_since.value_or(context.now) : context.now;
    keep(context.tx, context.now, live,
         {.kind = stands ? "UNCARRIED" : "CARRIED",
          .payload = fmt::format(R"({{"since":"{}","uncarried_ms":"{}"}})", to_rfc3339(since),
                                 live.stood_ms)});
    if (is_metered(live.state))
        events::tell(context, stands ? rental_uncarried : rental_carried, job.terms.renter_id,
                     live.job_id, SinceFacts{since});
}

}  // namespace

void look_at_carriage(const db::Context& context, JobRow& job) {
    if (!is_carried_by_gate(job)) return;
    const bool stood = job.live.stands_since.has_value();
    const std::vector<Stand> stands = look(context.tx, job, context.now);
    for (const Stand& each : stands) add_stand(context.tx, job.terms.job_id, each);
    const bool does_stand = job.live.stands_since.has_value();
    // What began and ended unseen is on record, too.
    if (stood != does_stand || (!does_stand && !stands.empty()))
        note_turn(context, job, does_stand);
}

JobRow seen_with_carriage(db::Transaction& tx, JobRow job, Time now) {
    if (is_carried_by_gate(job)) look(tx, job, now);
    return job;
}

std::optional<std::int64_t> find_carried_bytes(db::Transaction& tx, const JobTerms& terms) {
    if (!terms.is_by_gate()) return std::nullopt;
    return gates::carried_bytes(tx, terms.job_id);
}

}  // namespace berth::rentals
