#include "db/sqlite_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::db {
namespace {

// The log is copied into the database every 4 MiB or so. When readers hold it back up to 64 MiB
// the writer begins to wait for them, a moment each time.
constexpr int checkpoint_frames = 1000;
constexpr int log_frames_max = 16384;

}  // namespace

SqliteWriter::SqliteWriter(const std::string& path, const Options& options, const void* database,
                           Changes& changes, const Wakes& wakes)
    : path_(path),
      options_(options),
      database_(database),
      changes_(changes),
      wakes_(wakes),
      connection_(std::make_unique<SqliteConnection>(path, SqliteConnection::Access::write)) {
    check(options.group_max >= 1 && options.write_queue_max >= 1, "the writer has room to work");
    if (options.writer_thread) thread_ = std::thread([this] { loop(); });
}

SqliteWriter::~SqliteWriter() {
    {
        const std::lock_guard lock(mutex_);
        for (const auto& job : queue_) {
            const std::lock_guard job_lock(job->mutex);
            check(job->state == Job::State::withdrawn,
                  "nobody is writing when the database is closed");
        }
        stopping_ = true;
    }
    arrived_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void SqliteWriter::write(const Database::Work& work) {
    if (!options_.writer_thread) return write_here(work);
    const auto job = std::make_shared<Job>(work);
    {
        const std::lock_guard lock(mutex_);
        if (queue_.size() >= options_.write_queue_max) throw Unavailable("the write queue is full");
        queue_.push_back(job);
        if (queue_.size() == 1) arrived_.notify_one();
    }
    await(*job);
    // Taken out, so that the caller alone holds it: the writer may let go of the job after this.
    if (auto error = std::exchange(job->error, nullptr)) std::rethrow_exception(std::move(error));
}

// A closure that was begun with is waited for, however long it takes: it may be committed.
void SqliteWriter::await(Job& job) const {
    const auto is_done = [&] { return job.state == Job::State::done; };
    std::unique_lock lock(job.mutex);
    if (job.answered.wait_for(lock, options_.write_wait_max, is_done)) return;
    if (job.state == Job::State::waiting) {
        job.state = Job::State::withdrawn;
        throw Unavailable("the database is busy with other writes");
    }
    job.answered.wait(lock, is_done);
}

// False when nobody waits for it any more.
bool SqliteWriter::begin(Job& job) {
    const std::lock_guard lock(job.mutex);
    if (job.state == Job::State::withdrawn) return false;
    job.state = Job::State::begun;
    return true;
}

Duration SqliteWriter::writing_for() const {
    const SteadyClock::rep since = busy_since_.load(std::memory_order_relaxed);
    if (since == 0) return {};
    return std::chrono::duration_cast<Duration>(SteadyClock::now().time_since_epoch() -
                                                SteadyClock::duration(since));
}

void SqliteWriter::write_here(const Database::Work& work) {
    const auto job = std::make_shared<Job>(work);
    {
        const std::lock_guard lock(mutex_);
        Group group{job};
        answer(group, run_group(group));
        checkpoint_if_due();
    }
    if (job->error) std::rethrow_exception(job->error);
}

void SqliteWriter::loop() {
    Group group;
    group.reserve(options_.group_max);
    while (wait_for_jobs(group)) {
        busy_since_ = SteadyClock::now().time_since_epoch().count();
        answer(group, run_group(group));
        group.clear();
        checkpoint_if_due();
        busy_since_ = 0;
    }
}

bool SqliteWriter::wait_for_jobs(Group& group) {
    {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return false;
    }
    take_jobs(group);
    return true;
}

void SqliteWriter::take_jobs(Group& group) {
    const std::lock_guard lock(mutex_);
    const std::size_t room = options_.group_max - group.size();
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(room, queue_.size()));
    group.insert(group.end(), queue_.begin(), end);
    queue_.erase(queue_.begin(), end);
}

// Runs the closures of the group, and those that arrive meanwhile, then commits. A failure is one
// of the whole group: nothing of it stays.
Failure SqliteWriter::run_group(Group& group) {
    if (const Failure failure = ensure_connection()) return failure;
    kept_ = 0;
    to_wake_.clear();
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (const Failure failure = run_job(*group[i])) return failure;
        if (i + 1 == group.size() && options_.writer_thread) take_jobs(group);
    }
    return commit();
}

Failure SqliteWriter::ensure_connection() {
    if (connection_) return {};
    try {
        connection_ = std::make_unique<SqliteConnection>(path_, SqliteConnection::Access::write);
        return {};
    } catch (const Unavailable& unavailable) {
        return {Failure::Kind::unavailable, false, unavailable.what()};
    }
}

// The first closure of a transaction is undone by ROLLBACK; only those after it need a savepoint.
Failure SqliteWriter::run_job(Job& job) {
    Failure failure;
    if (!begin(job)) return failure;
    const bool first = !connection_->in_transaction();
    if (!execute(first ? "BEGIN IMMEDIATE" : "SAVEPOINT closure", failure)) return failure;
    SqliteTransaction transaction(*connection_, changes_, SqliteTransaction::Mode::write);
    try {
        const NestingGuard guard(database_);
        const LogScope scope(job.request);
        job.work(transaction);
        transaction.write_batches();
        if (transaction.failure()) transaction.failure().raise();
        to_wake_.insert(to_wake_.end(), transaction.wakes().begin(), transaction.wakes().end());
        has_changes_ = has_changes_ || transaction.has_changes();
        check(connection_->in_transaction(), "a closure leaves COMMIT and ROLLBACK to the writer");
        ++kept_;
    } catch (...) {
        job.error = std::current_exception();
        return undo(!first);
    }
    if (!first) execute("RELEASE closure", failure);
    return failure;
}

Failure SqliteWriter::undo(bool to_savepoint) {
    Failure failure;
    if (!connection_->in_transaction()) {
        // SQLite gave up the transaction by itself, and the earlier closures with it.
        if (kept_ > 0) failure = {Failure::Kind::unavailable, false, "the write was given up"};
    } else if (to_savepoint) {
        if (execute("ROLLBACK TO closure", failure)) execute("RELEASE closure", failure);
    } else {
        execute("ROLLBACK", failure);
    }
    return failure;
}

Failure SqliteWriter::commit() {
    Failure failure;
    if (connection_->in_transaction()) execute("COMMIT", failure);
    if (std::exchange(has_changes_, false)) changes_.note();
    if (!failure) wakes_.tell(to_wake_);
    return failure;
}

void SqliteWriter::answer(const Group& group, const Failure& failure) {
    if (failure) {
        log(Level::error, "sqlite_write_failed", {{"reason", failure.message}});
        give_up_transaction();
    }
    for (const std::shared_ptr<Job>& job : group) {
        const std::lock_guard lock(job->mutex);
        if (job->state == Job::State::withdrawn) continue;
        if (failure)
            job->error = std::make_exception_ptr(Unavailable("the database could not write"));
        job->state = Job::State::done;
        job->answered.notify_one();
    }
}

void SqliteWriter::give_up_transaction() {
    if (!connection_) return;
    Failure ignored;
    if (connection_->in_transaction()) execute("ROLLBACK", ignored);
    // If it cannot even roll back, only a new connection gets out of this transaction.
    if (connection_->in_transaction()) connection_.reset();
}

void SqliteWriter::checkpoint_if_due() {
    if (!connection_) return;
    const int frames = connection_->log_frames();
    if (frames < checkpointed_frames_) checkpointed_frames_ = 0;  // the log started over
    if (frames - checkpointed_frames_ < checkpoint_frames) return;
    connection_->checkpoint(frames < log_frames_max ? SqliteConnection::Checkpoint::passive
                                                    : SqliteConnection::Checkpoint::restart);
    checkpointed_frames_ = frames;
}

bool SqliteWriter::execute(std::string_view sql, Failure& failure) {
    connection_->run(sql, {}, failure);
    return !failure;
}

}  // namespace berth::db
