#include "worker/worker.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/log.hpp"
#include "worker/tasks.hpp"

namespace berth::worker {
namespace {

constexpr std::int64_t candidates_max = 16;
constexpr std::size_t error_bytes_max = 500;
constexpr Duration outage_wait = std::chrono::milliseconds(500);
constexpr Duration quiet_max =
    std::chrono::seconds(30);  // longer without the database is unhealthy

// Full jitter: anything up to the doubled wait, so that failed tasks do not come back in step.
Duration retry_wait(const Kind& kind, std::int64_t attempt, Random& random) {
    constexpr std::int64_t doublings_max = 30;
    const std::int64_t doubled = kind.retry_first.count() << std::min(attempt - 1, doublings_max);
    const std::int64_t longest = std::min(doubled, kind.retry_max.count());
    return Duration{1 + static_cast<std::int64_t>(random.below(
                            static_cast<std::uint64_t>(std::max<std::int64_t>(longest, 1))))};
}

}  // namespace

void Attempt::finish(const std::function<void(db::Transaction&)>& effect) {
    require(!finished_, "a task is finished once");
    parts_.database.write([&](db::Transaction& tx) {
        // The lease first: on PostgreSQL this locks the row, so that no one takes it meanwhile.
        const Lease lease{parts_.task.id, parts_.lease};
        const bool ours = parts_.every ? repeat_task(tx, lease, parts_.clock.now() + *parts_.every)
                                       : end_task(tx, lease);
        if (!ours) throw LeaseLost();
        effect(tx);
    });
    finished_ = true;
}

Worker::Worker(db::Database& database, const Clock& clock, Random& random, std::vector<Kind> kinds,
               Options options)
    : database_(database), clock_(clock), random_(random), options_(options) {
    std::vector<std::string> names;
    std::map<std::string, std::vector<std::string>> names_by_lane;
    for (Kind& kind : kinds) {
        names.push_back(kind.name);
        names_by_lane[kind.lane].push_back(kind.name);
        std::string name = kind.name;
        const bool added = kinds_.emplace(std::move(name), std::move(kind)).second;
        check(added, "a kind of task is declared once");
    }
    due_sql_ = due_statement(names);
    for (const auto& [lane, in_lane] : names_by_lane) lanes_.emplace(lane, due_statement(in_lane));
}

Worker::~Worker() { stop(); }

void Worker::start() {
    check(threads_.empty(), "a worker is started once");
    last_reached_ = clock_.now().micros;
    check(options_.threads > 0, "a worker has threads");
    for (const auto& [lane, due_sql] : lanes_) {
        // Tasks of a kind that comes again are one row: a second thread would have nothing to do.
        const auto is_many = [&wanted = lane](const auto& entry) {
            return entry.second.lane == wanted && !entry.second.every;
        };
        const bool many = std::any_of(kinds_.begin(), kinds_.end(), is_many);
        const std::size_t count = many ? options_.threads : 1;
        for (std::size_t i = 0; i < count; ++i)
            threads_.emplace_back([this, text = due_sql] { loop(text); });
    }
    {
        const std::lock_guard lock(mutex_);
        threads_left_ = threads_.size();
    }
    heartbeat_ = std::thread([this] { heartbeat_loop(); });
}

// The heartbeat goes on until the last attempt has ended or lost its lease.
void Worker::stop() {
    raise(stopping_);
    bool ended = true;
    {
        std::unique_lock lock(mutex_);
        ended = wake_.wait_for(lock, options_.patience,
                               [this] { return threads_left_ == 0 || threads_.empty(); });
    }
    if (!ended) {
        raise(heartbeat_stopping_);
        give_back_leases();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    raise(heartbeat_stopping_);
    if (heartbeat_.joinable()) heartbeat_.join();
}

void Worker::give_back_leases() {
    std::map<TaskId, TaskId> running;
    {
        const std::lock_guard lock(mutex_);
        running = running_;
    }
    log(Level::warn, "tasks_given_back", {{"tasks", running.size()}});
    try {
        database_.write([&](db::Transaction& tx) {
            for (const auto& [task, lease] : running) return_task(tx, {task, lease}, clock_.now());
        });
    } catch (const std::exception& error) {
        log(Level::warn, "tasks_not_given_back", {{"why", error.what()}});
    }
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
    return quiet < quiet_max;
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

void Worker::loop(std::string_view due_sql) {
    for (bool going = true; going;) {
        try {
            going = wait(run_one(due_sql) ? Duration{0} : options_.poll, stopping_);
        } catch (const std::exception& error) {
            if (const std::int64_t times = away_.note())
                log(Level::warn, "worker_cannot_claim", {{"why", error.what()}, {"times", times}});
            going = wait(options_.poll * 4, stopping_);
        }
    }
    {
        const std::lock_guard lock(mutex_);
        --threads_left_;
    }
    wake_.notify_all();
}

bool Worker::run_one() { return run_one(due_sql_); }

bool Worker::run_one(std::string_view due_sql) {
    settle_given_up();
    plant_recurring();
    const auto claimed = claim(due_sql);
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
                if (kind.every) enqueue({tx, random_, now}, {name, "", recurring_key(name), now});
        });
    } catch (...) {
        const std::lock_guard lock(mutex_);
        planted_ = false;
        throw;
    }
}

std::optional<Worker::Claim> Worker::claim(std::string_view due_sql) {
    const Time now = clock_.now();
    const auto due = database_.read(
        [&](db::Transaction& tx) { return find_due(tx, due_sql, now, candidates_max); });
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
    const Kind& kind = kinds_.find(claim.task.kind)->second;
    Attempt attempt({database_, clock_, claim.task, claim.lease, kind.every,
                     options_.settings ? options_.settings->now() : nullptr});
    try {
        kind.run(attempt);
        if (!attempt.finished()) attempt.finish([](db::Transaction&) {});
    } catch (const LeaseLost&) {
        log(Level::warn, "task_lease_lost", {{"kind", kind.name}});
    } catch (const db::Unavailable& away) {
        if (!attempt.finished()) try_again_soon(claim, away.what());
    } catch (const std::exception& error) {
        if (!attempt.finished()) retry_later(claim, kind, error.what());
    }
}

// The database is away, which is not the task's fault and is said once for all of them.
void Worker::try_again_soon(const Claim& claim, std::string_view why) {
    if (const std::int64_t times = away_.note())
        log(Level::warn, "task_without_database",
            {{"kind", claim.task.kind}, {"why", redact(why)}, {"times", times}});
    give_up({claim, clock_.now() + outage_wait, {}});
}

void Worker::retry_later(const Claim& claim, const Kind& kind, std::string_view why) {
    const std::string reason = redact(why.substr(0, error_bytes_max));
    const bool dead = claim.task.attempt >= kind.attempts_max && !kind.every;
    log(dead ? Level::error : Level::warn, dead ? "task_dead" : "task_failed",
        {{"kind", claim.task.kind},
         {"task", to_string(claim.task.id)},
         {"attempt", claim.task.attempt},
         {"why", reason}});
    give_up({claim, clock_.now() + retry_wait(kind, claim.task.attempt, random_), reason, dead});
}

// What cannot be written now is written before this worker claims again, so that a task does not
// wait for a lease that its own worker still remembers.
void Worker::give_up(GivenUp given_up) {
    {
        const std::lock_guard lock(mutex_);
        given_up_.push_back(std::move(given_up));
    }
    try {
        settle_given_up();
    } catch (const std::exception& error) {
        if (const std::int64_t times = away_.note())
            log(Level::warn, "task_not_given_back", {{"why", error.what()}, {"times", times}});
    }
}

void Worker::settle_given_up() {
    std::vector<GivenUp> all;
    {
        const std::lock_guard lock(mutex_);
        all = std::exchange(given_up_, {});
    }
    if (all.empty()) return;
    try {
        database_.write([&](db::Transaction& tx) {
            for (const GivenUp& one : all) {
                const Lease lease{one.claim.task.id, one.claim.lease};
                if (one.why.empty())
                    return_task(tx, lease, one.run_at);
                else if (one.dead)
                    bury(tx, one);
                else
                    postpone_task(tx, lease, one.run_at, one.why);
            }
        });
    } catch (...) {
        const std::lock_guard lock(mutex_);
        given_up_.insert(given_up_.end(), all.begin(), all.end());
        throw;
    }
}

void Worker::bury(db::Transaction& tx, const GivenUp& one) {
    // Without its lease it is another worker's, who may finish it yet.
    if (!bury_task(tx, {one.claim.task.id, one.claim.lease}, one.why)) return;
    if (options_.on_dead) options_.on_dead({tx, random_, clock_.now()}, one.claim.task);
}

void Worker::heartbeat_loop() {
    while (wait(options_.lease / 4, heartbeat_stopping_)) {
        try {
            extend_leases();
        } catch (const std::exception& error) {
            if (const std::int64_t times = away_.note())
                log(Level::warn, "worker_heartbeat_failed",
                    {{"why", error.what()}, {"times", times}});
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
    last_reached_ = clock_.now().micros;
}

bool Worker::wait(Duration span, const bool& flag) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, span, [&] { return flag; });
}

}  // namespace berth::worker
