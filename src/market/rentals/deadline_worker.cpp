#include "rentals/deadline_worker.hpp"

#include "base/log.hpp"
#include "machines/qualification.hpp"
#include "machines/qualification_runs.hpp"

namespace berth::rentals {
namespace {

constexpr Duration look_every = std::chrono::seconds(1);

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

std::int64_t DeadlineWorker::look(const std::function<void(MachineId)>& wake) {
    const Time up_since = parts_.database.read(
        [&](db::Transaction& tx) { return listening_since(tx, parts_.clock.now(), outage_after); });
    const auto due = parts_.database.read(
        [&](db::Transaction& tx) { return find_due(tx, parts_.clock.now(), jobs_per_look_max); });
    for (const JobId& id : due) go_on_after(to_string(id), [&] { wake(pass_time(id, up_since)); });
    put_uncleaned_aside(up_since);
    return static_cast<std::int64_t>(due.size());
}

MachineId DeadlineWorker::pass_time(JobId id, Time up_since) {
    return parts_.database.write([&](db::Transaction& tx) {
        auto held = hold_job(tx, id);
        if (!held) return MachineId{};
        const db::Context context{tx, parts_.random, parts_.clock.now()};
        parts_.lifecycle.pass_time(context, *held, up_since);
        return held->job.terms.machine_id;
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

worker::Kind job_deadlines_kind(const DeadlineWorker::Parts& parts) {
    const auto deadlines = std::make_shared<DeadlineWorker>(parts);
    return {.name = "job_deadlines",
            .run =
                [deadlines](worker::Attempt& attempt) {
                    std::vector<MachineId> told;
                    deadlines->look([&](MachineId machine) { told.push_back(machine); });
                    for (const MachineId& machine : told)
                        attempt.wake_after_commit(machines::commands_key(machine));
                },
            .every = look_every,
            .lane = "jobs"};
}

}  // namespace berth::rentals
