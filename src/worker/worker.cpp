#include "worker/worker.hpp"

#include "base/check.hpp"
#include "base/log.hpp"
#include "worker/tasks.hpp"

namespace berth::worker {
namespace {

constexpr std::int64_t candidates_max = 16;
constexpr std::size_t error_bytes_max = 500;
constexpr Duration unknown_kind_wait = std::chrono::minutes(1);

// Full jitter: anything up to the doubled wait, so that failed tasks do not come back in step.
Duration retry_wait(const Kind& kind, std::int64_t attempt, Random& random) {
    constexpr std::int64_t doublings_max = 30;
    const std::int64_t doubled = kind.retry_first.count()
                                 << std::min(attempt - 1, doublings_max);
    const std::int64_t longest = std::min(doubled, kind.retry_max.count());
    return Duration{1 + static_cast<std::int64_t>(
                            random.below(static_cast<std::uint64_t>(std::max<std::int64_t>(longest, 1))))};
}

}  // namespace

void Attempt::finish(const std::function<void(db::Transaction&)>& effect) {
    require(!finished_, "a task is finished once");
    parts_.database.write([&](db::Transaction& tx) {
        // The lease first: on PostgreSQL this locks the row, so that no one takes it meanwhile.
        const Lease lease{parts_.task.id, parts_.lease};
        const bool ours = parts_.every
                              ? repeat_task(tx, lease, parts_.clock.now() + *parts_.every)
                              : end_task(tx, lease);
        if (!ours) throw LeaseLost();
        effect(tx);
    });
    finished_ = true;
}

Worker::Worker(db::Database& database, const Clock& clock, Random& random, std::vector<Kind> kinds,
               Options options)
    : database_(database), clock_(clock), random_(random), options_(options) {
    for (Kind& kind : kinds) {
        std::string name = kind.name;
        const bool added = kinds_.emplace(std::move(name), std::move(kind)).second;
        check(added, "a kind of task is declared once");
    }
}

Worker::~Worker() { stop(); }

void Worker::start() {
    check(threads_.empty(), "a worker is started once");
    last_reached_ = clock_.now().micros;
    for (std::size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { loop(); });
    heartbeat_ = std::thread([this] { heartbeat_loop(); });
}

// The heartbeat goes on until the last attempt has ended: it keeps their leases.
void Worker::stop() {
    raise(stopping_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    raise(heartbeat_stopping_);
    if (heartbeat_.joinable()) heartbeat_.join();
}

void Worker::raise(bool& flag) {
    {
        const std::lock_guard lock(mutex_);
        flag = true;
    }
    wake_.notify_all();
}

bool Worker::healthy() const {
    const Duration quiet = clock_.now() - Time{last_reached_.load()};
    return quiet < options_.lease;
}

Kind prune_kind(const std::string& name, db::Database& database,
                std::function<std::int64_t(db::Transaction&)> prune) {
    return {.name = name,
            .run =
                [&database, prune = std::move(prune)](Attempt&) {
                    constexpr int passes_max = 1000;
                    for (int i = 0; i < passes_max; ++i)
                        if (database.write(prune) < prune_rows_max) break;
                },
            .every = std::chrono::minutes(10)};
}

void Worker::loop() {
    for (bool going = true; going;) {
        try {
            going = run_one() ? wait(Duration{0}, stopping_) : wait(options_.poll, stopping_);
        } catch (const std::exception& error) {
            log(Level::warn, "worker_cannot_claim", {{"why", error.what()}});
            going = wait(options_.poll * 4, stopping_);
        }
    }
}

bool Worker::run_one() {
    plant_recurring();
    const auto claimed = claim();
    last_reached_ = clock_.now().micros;
    if (!claimed) return false;
    {
        const std::lock_guard lock(mutex_);
        running_.emplace(claimed->task.id, claimed->lease);
    }
    run_claim(*claimed);
    const std::lock_guard lock(mutex_);
    running_.erase(claimed->task.id);
    return true;
}

// Tasks that come again by themselves have one row each, made by whoever starts first.
void Worker::plant_recurring() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(planted_, true)) return;
    }
    const Time now = clock_.now();
    try {
        database_.write([&](db::Transaction& tx) {
            for (const auto& [name, kind] : kinds_)
                if (kind.every) enqueue(tx, random_, now, {name, "", "every " + name, now});
        });
    } catch (...) {
        const std::lock_guard lock(mutex_);
        planted_ = false;
        throw;
    }
}

std::optional<Worker::Claim> Worker::claim() {
    const Time now = clock_.now();
    const auto due = database_.read(
        [&](db::Transaction& tx) { return find_due(tx, now, candidates_max); });
    // Workers that look at the same moment see the same rows: each starts at another one.
    const std::size_t first = due.empty() ? 0 : random_.below(due.size());
    for (std::size_t i = 0; i < due.size(); ++i) {
        const Due& candidate = due[(first + i) % due.size()];
        const TaskId lease = TaskId::make(now, random_);
        auto task = database_.write([&](db::Transaction& tx) {
            return take_lease(tx, candidate, lease, now + options_.lease);
        });
        if (task) return Claim{std::move(*task), lease};
    }
    return std::nullopt;
}

void Worker::run_claim(const Claim& claim) {
    const auto found = kinds_.find(claim.task.kind);
    if (found == kinds_.end()) {
        leave_to_others(claim);
        return;
    }
    const Kind& kind = found->second;
    Attempt attempt({database_, clock_, claim.task, claim.lease, kind.every,
                     options_.settings ? options_.settings->now() : nullptr});
    try {
        kind.run(attempt);
        if (!attempt.finished()) attempt.finish([](db::Transaction&) {});
    } catch (const LeaseLost&) {
        log(Level::warn, "task_lease_lost", {{"kind", kind.name}});
    } catch (const std::exception& error) {
        if (!attempt.finished()) retry_later(claim, kind, error.what());
    }
}

// A newer program may know the kind: this was no attempt.
void Worker::leave_to_others(const Claim& claim) {
    log(Level::warn, "task_of_unknown_kind", {{"kind", claim.task.kind}});
    database_.write([&](db::Transaction& tx) {
        return_task(tx, {claim.task.id, claim.lease}, clock_.now() + unknown_kind_wait);
    });
}

void Worker::retry_later(const Claim& claim, const Kind& kind, std::string_view why) {
    const Lease lease{claim.task.id, claim.lease};
    const std::string reason = redact(why.substr(0, error_bytes_max));
    const bool dead = claim.task.attempt >= kind.attempts_max && !kind.every;
    log(dead ? Level::error : Level::warn, dead ? "task_dead" : "task_failed",
        {{"kind", claim.task.kind},
         {"task", to_string(claim.task.id)},
         {"attempt", claim.task.attempt},
         {"why", reason}});
    const Time later = clock_.now() + retry_wait(kind, claim.task.attempt, random_);
    try {
        database_.write([&](db::Transaction& tx) {
            return dead ? bury_task(tx, lease, reason) : postpone_task(tx, lease, later, reason);
        });
    } catch (const std::exception& error) {
        // The lease runs out by itself, and the task is claimed again then.
        log(Level::warn, "task_not_postponed", {{"why", error.what()}});
    }
}

void Worker::heartbeat_loop() {
    while (wait(options_.lease / 3, heartbeat_stopping_)) {
        try {
            extend_leases();
        } catch (const std::exception& error) {
            log(Level::warn, "worker_heartbeat_failed", {{"why", error.what()}});
        }
    }
}

void Worker::extend_leases() {
    std::map<TaskId, TaskId> running;
    {
        const std::lock_guard lock(mutex_);
        running = running_;
    }
    if (running.empty()) return;
    const Time until = clock_.now() + options_.lease;
    database_.write([&](db::Transaction& tx) {
        for (const auto& [task, lease] : running) extend_lease(tx, {task, lease}, until);
    });
}

bool Worker::wait(Duration span, const bool& flag) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, span, [&] { return flag; });
}

}  // namespace berth::worker
