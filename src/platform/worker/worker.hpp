// Background work as rows in the database. A task is claimed by its lease columns, so any number of
// processes may work on one table; it is run at least once, and its effect commits together with
// its end, so a task whose worker died or lost the lease has no half effect in the database.
//
// Mail, settlement and everything else that talks to the outside goes through here: a request only
// writes the row (enqueue), in its own transaction.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "base/log_limiter.hpp"
#include "db/migrate.hpp"
#include "settings/live.hpp"

namespace berth::worker {

struct Task {
    TaskId id;
    std::string kind;
    std::string payload;
    std::int64_t attempt;  // 1 for the first
};

struct NewTask {
    std::string_view kind;
    std::string_view payload;
    std::optional<std::string> unique_key =
        {};  // at most one waiting task has it; another is dropped
    Time run_at;
};

// Writes the task in the caller's transaction.
void enqueue(db::Context context, const NewTask& task);

// Whether a task of this kind has failed and not succeeded since.
bool is_failing(db::Transaction& tx, std::string_view kind);

// Our lease ran out and somebody else may be at work: this run has no more say.
class LeaseLost : public std::exception {
public:
    const char* what() const noexcept override { return "the lease of a task was lost"; }
};

// One attempt at a task, as its handler sees it. A handler that returns without calling finish() is
// finished with no further effect; one that throws is tried again later.
class Attempt {
public:
    struct Parts {
        db::Database& database;
        const Clock& clock;
        const Task& task;
        TaskId lease;
        std::optional<Duration> every;
        std::shared_ptr<const berth::settings::Snapshot> settings;
    };
    explicit Attempt(Parts parts) : parts_(std::move(parts)) {}

    const Task& task() const { return parts_.task; }

    // What operators have set, the same from the beginning of the attempt to its end.
    template <class Section>
    const Section& settings() const {
        check(parts_.settings != nullptr, "the worker was given settings");
        return parts_.settings->get<Section>();
    }

    // Runs `effect` and ends the task in one transaction. Throws LeaseLost, and nothing happens,
    // when the lease is not ours any more.
    void finish(const std::function<void(db::Transaction&)>& effect);
    bool finished() const { return finished_; }

private:
    Parts parts_;
    bool finished_ = false;
};

struct Kind {
    std::string name;
    std::function<void(Attempt&)> run;
    std::int64_t attempts_max = 10;  // then the task is dead and waits for a person
    Duration retry_first =
        std::chrono::seconds(1);  // doubled for each further attempt, with jitter
    Duration retry_max = std::chrono::hours(1);
    std::optional<Duration> every = {};  // a task that comes again by itself; it is never dead
    // Each lane has threads of its own, so that kinds of one lane never wait for those of another:
    // a mail server that is silent must not delay money.
    std::string lane = "upkeep";
};

// Every ten minutes, deletes old rows in passes: `prune` deletes up to prune_rows_max of them and
// says how many.
inline constexpr std::int64_t prune_rows_max = 1000;
Kind prune_kind(const std::string& name, db::Database& database,
                std::function<std::int64_t(db::Transaction&)> prune);

struct Options {
    std::size_t threads = 2;  // of each lane; one where all kinds come again by themselves
    Duration poll = std::chrono::milliseconds(250);
    // After a crash a task waits this long for another worker; kept by a heartbeat.
    Duration lease = std::chrono::seconds(8);
    // How long stop() waits for attempts in progress before it gives their leases back.
    Duration patience = std::chrono::seconds(5);
    const settings::Live* settings = nullptr;  // what attempts read; none: they read none
    // For whoever is to know that a task is dead, in the transaction that buries it.
    std::function<void(const db::Context&, const Task&)> on_dead = {};
};

class Worker {
public:
    Worker(db::Database& database, const Clock& clock, Random& random, std::vector<Kind> kinds,
           Options options = {});
    ~Worker();  // stops
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void start();
    // Ends after the attempts in progress. Those that take long lose their leases, so that another
    // worker can take them up at once, and can have no effect any more.
    void stop();

    // Claims and runs one task that is due, on this thread; false when there is none. For tests and
    // the simulator, and the body of the worker's own threads.
    bool run_one();

    // Whether the threads have reached the database lately.
    bool healthy() const;

private:
    struct Claim {
        Task task;
        TaskId lease;
    };

    // What is to be written of an attempt that failed, as soon as the database takes it.
    struct GivenUp {
        Claim claim;
        Time run_at;
        std::string why;  // empty: it was no attempt
        bool dead = false;
    };

    bool run_one(std::string_view due_sql);
    std::optional<Claim> claim(std::string_view due_sql);
    void run_claim(const Claim& claim);
    void retry_later(const Claim& claim, const Kind& kind, std::string_view why);
    void try_again_soon(const Claim& claim, std::string_view why);
    void give_up(GivenUp given_up);
    void settle_given_up();
    void bury(db::Transaction& tx, const GivenUp& one);
    void plant_recurring();
    void loop(std::string_view due_sql);
    void heartbeat_loop();
    void extend_leases();
    void give_back_leases();
    void raise(bool& flag);
    bool wait(Duration span, const bool& flag);  // false when the flag was raised

    db::Database& database_;
    const Clock& clock_;
    Random& random_;
    std::map<std::string, Kind, std::less<>> kinds_;
    const Options options_;
    std::string_view due_sql_;                       // of all kinds
    std::map<std::string, std::string_view> lanes_;  // the statement of each

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    bool heartbeat_stopping_ = false;
    std::map<TaskId, TaskId> running_;  // task to lease
    std::vector<GivenUp> given_up_;
    std::size_t threads_left_ = 0;
    LogLimiter away_{std::chrono::seconds(10)};  // says that the database is away
    std::atomic<std::int64_t> last_reached_{0};
    bool planted_ = false;
    std::vector<std::thread> threads_;
    std::thread heartbeat_;
};

extern const std::span<const db::Migration> migrations;

}  // namespace berth::worker
