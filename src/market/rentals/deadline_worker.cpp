#include "rentals/deadline_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "machines/qualification.hpp"
#include "machines/qualification_runs.hpp"
#include "machines/silence.hpp"
#include "rentals/told.hpp"

namespace berth::rentals {
namespace {

constexpr Duration look_every = std::chrono::seconds(1);
constexpr Duration silence_looked_every = std::chrono::seconds(15);
// After an outage everything is due at once; the rest comes with the next look.
constexpr int passes_max = 20;
// With PostgreSQL several processes may have workers. Each takes another part of what is due; one
// that meets what another has dealt with meanwhile finds nothing to do.
constexpr int shares_of_many = 4;

// What is wrong with one of them must not hold up all that come after it.
template <class Work>
void go_on_after(const std::string& id, const Work& work) {
    try {
        work();
    } catch (const db::Unavailable&) {
        throw;
    } catch (const std::exception& error) {
        log(Level::error, "deadline_failed", {{"id", id}, {"why", error.what()}});
    }
}

}  // namespace

std::int64_t DeadlineWorker::look() {
    std::int64_t looked_at = 0;
    Time up_since;
    for (int pass = 0; pass < passes_max; ++pass) {
        const Time now = parts_.clock.now();
        std::vector<JobRow> due;
        parts_.database.read([&](db::Transaction& tx) {
            up_since = listening_since(tx, now, outage_after);
            due = find_due(tx, now, jobs_per_look_max, share_ * jobs_per_look_max);
        });
        looked_at += static_cast<std::int64_t>(due.size());
        judge(due, now, up_since);
        if (static_cast<std::int64_t>(due.size()) < jobs_per_look_max) break;
    }
    if (share_ == 0) put_uncleaned_aside(up_since);
    if (share_ == 0) tell_of_silence(up_since);
    return looked_at;
}

// Most jobs that come due have been heard of since, and only go on: these are put back together,
// and nobody who uses them waits. Whoever is late is taken up alone, and judged anew.
void DeadlineWorker::judge(const std::vector<JobRow>& due, Time now, Time up_since) {
    std::vector<PutBack> early;
    for (const JobRow& job : due)
        go_on_after(to_string(job.terms.job_id), [&] {
            const auto next = next_due(job, up_since);
            if (next && next->at > now)
                early.push_back({job.terms.job_id, next->at, job.live.deadline_at.value(),
                                 job.live.evidence_count});
            else
                pass_time(job.terms.job_id, up_since);
        });
    if (early.empty()) return;
    // Rows are changed in the order of their ids, as everybody does.
    std::sort(early.begin(), early.end(),
              [](const PutBack& a, const PutBack& b) { return a.job_id < b.job_id; });
    parts_.database.write([&](db::Transaction& tx) { put_back(tx, early); });
}

void DeadlineWorker::pass_time(JobId id, Time up_since) {
    parts_.database.write([&](db::Transaction& tx) {
        auto held = hold_job(tx, id);
        if (!held) return;
        const db::Context context{tx, parts_.random, parts_.clock.now()};
        parts_.lifecycle.pass_time(context, *held, up_since);
    });
}

// Machines that hold jobs which the books do not know.
void DeadlineWorker::put_uncleaned_aside(Time up_since) {
    const auto late = parts_.database.read([&](db::Transaction& tx) {
        return machines::find_uncleaned(tx, parts_.clock.now(), jobs_per_look_max);
    });
    for (const MachineId& id : late)
        go_on_after(to_string(id), [&] {
            parts_.database.write([&](db::Transaction& tx) {
                machines::quarantine_uncleaned({tx, parts_.random, parts_.clock.now()}, id,
                                               up_since);
            });
        });
}

// Whoever could not be heard because nobody listened is not silent. Owners hear of their machines,
// renters of what they have rented on one.
void DeadlineWorker::tell_of_silence(Time up_since) {
    const Time now = parts_.clock.now();
    if (now < silence_looked_at_ + silence_looked_every) return;
    silence_looked_at_ = now;
    const Time fresh = now - machines::heartbeat_fresh;
    std::vector<MachineId> silent;
    std::vector<MachineId> heard;
    parts_.database.read([&](db::Transaction& tx) {
        heard = machines::find_heard_again(tx, fresh, jobs_per_look_max);
        silent = up_since <= fresh ? machines::find_fallen_silent(tx, fresh, jobs_per_look_max)
                                   : std::vector<MachineId>();
    });
    const auto for_each = [&](const std::vector<MachineId>& ids, const auto& note,
                              const events::Kind<SinceFacts>& to_renter) {
        for (const MachineId& id : ids)
            go_on_after(to_string(id), [&] {
                parts_.database.write([&](db::Transaction& tx) {
                    const db::Context context{tx, parts_.random, parts_.clock.now()};
                    if (const auto silence = note(context, id, fresh))
                        tell_of_reach(context, *silence, to_renter);
                });
            });
    };
    for_each(heard, machines::note_heard_again, rental_reachable);
    for_each(silent, machines::note_silent, rental_unreachable);
}

std::vector<worker::Kind> job_deadlines_kinds(const DeadlineWorker::Parts& parts) {
    const int shares = parts.database.engine() == db::Engine::postgres ? shares_of_many : 1;
    std::vector<worker::Kind> kinds;
    for (int share = 0; share < shares; ++share) {
        const auto deadlines = std::make_shared<DeadlineWorker>(parts, share);
        kinds.push_back(
            {.name = share == 0 ? "job_deadlines" : fmt::format("job_deadlines_{}", share + 1),
             .run = [deadlines](worker::Attempt&) { deadlines->look(); },
             .every = look_every,
             .lane = "jobs"});
    }
    return kinds;
}

}  // namespace berth::rentals
