// The one writer of a SQLite database: it alone writes and checkpoints. (SQLite 3.40 can corrupt
// a write-ahead log when two connections write or checkpoint at the same time.)
//
// Closures wait in a bounded queue. The writer runs as many as have gathered, up to a group, in one
// transaction, so that they share one disk flush; while it commits, the next group gathers. Nobody
// is answered before the commit: even a closure that failed may have judged by what others of its
// group had written.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "db/sqlite_connection.hpp"

namespace berth::db {

class SqliteWriter {
public:
    // `database` is what closures must not open a second transaction of.
    SqliteWriter(const std::string& path, const Options& options, const void* database,
                 Changes& changes, const Wakes& wakes);
    ~SqliteWriter();
    SqliteWriter(const SqliteWriter&) = delete;
    SqliteWriter& operator=(const SqliteWriter&) = delete;

    // Blocks until `work` is durable or undone; throws what it threw, or Unavailable. What the
    // writer has not begun with in time is taken back, undone.
    void write(const Database::Work& work);
    // For how long the writer has been at the group that it works on; nothing while it waits.
    Duration writing_for() const;

private:
    // A closure whose caller waits for `done`. One that was withdrawn is never run.
    struct Job {
        explicit Job(const Database::Work& work_) : work(work_) {}

        const Database::Work& work;
        const std::string request = LogScope::current();  // what the closure logs belongs to it
        std::exception_ptr error = nullptr;
        std::mutex mutex = {};  // guards what follows
        std::condition_variable answered = {};
        enum class State { waiting, begun, withdrawn, done } state = State::waiting;
    };
    using Group = std::vector<std::shared_ptr<Job>>;
    using SteadyClock = std::chrono::steady_clock;

    void write_here(const Database::Work& work);
    static bool begin(Job& job);
    void await(Job& job) const;
    void loop();
    bool wait_for_jobs(Group& group);
    void take_jobs(Group& group);
    Failure run_group(Group& group);
    Failure ensure_connection();
    Failure run_job(Job& job);
    Failure undo(bool to_savepoint);
    Failure commit();
    void answer(const Group& group, const Failure& failure);
    void give_up_transaction();
    void checkpoint_if_due();
    bool execute(std::string_view sql, Failure& failure);

    const std::string path_;
    const Options options_;
    const void* const database_;
    Changes& changes_;
    const Wakes& wakes_;
    bool has_changes_ = false;                      // the open transaction
    std::vector<WakeKey> to_wake_;                  // when it is committed
    std::unique_ptr<SqliteConnection> connection_;  // none after it had to be given up
    std::size_t kept_ = 0;         // closures that succeeded in the open transaction
    int checkpointed_frames_ = 0;  // length of the log when it was last copied

    std::mutex mutex_;  // guards the two below; held while writing without a thread
    Group queue_;
    bool stopping_ = false;
    std::atomic<SteadyClock::rep> busy_since_{0};  // 0 while it waits
    std::condition_variable arrived_;
    std::thread thread_;
};

}  // namespace berth::db
