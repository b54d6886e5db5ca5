// Counts what passes through the relay, by job. Requests are counted in memory when they are over
// and written together, once a second, by a thread that nobody waits for; nothing is billed by it.
// A process that dies loses what was not written, mostly a second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/log_limiter.hpp"
#include "base/time.hpp"
#include "relay/store.hpp"
#include "relay/types.hpp"
#include "relay/usage_finder.hpp"

namespace berth::relay {

// One request that is over.
struct Tally {
    bool failed = false;
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;
    std::optional<TokenUsage> usage = {};
    std::optional<Duration> first_token = {};  // of a stream
    Duration making{};                         // from the first byte of a stream, or all of it
};

class Counters {
public:
    // Jobs with something to write; beyond them nothing is counted until some is written.
    static constexpr std::size_t jobs_max = 10'000;

    static constexpr std::chrono::milliseconds write_every{1000};
    // How long a reader waits for what is being written, so that nothing is told twice or not at
    // all; longer than that a write has stalled, and is told as if it had not begun.
    static constexpr std::chrono::milliseconds write_patience{500};

    ~Counters() { stop(); }

    void start(db::Database& database);
    void stop();  // writes what there is

    void add(JobId job, const Tally& tally);
    // Writes what there is. Throws what the database does, and keeps what could not be written.
    void write(db::Database& database);
    // With what this process has not written yet. It writes nothing.
    JobUsage read(db::Database& database, JobId job, Time since);

    // Of this process, since it started.
    struct Totals {
        std::atomic<std::uint64_t> requests{0};
        std::atomic<std::uint64_t> errors{0};
        std::atomic<std::uint64_t> bytes_in{0};
        std::atomic<std::uint64_t> bytes_out{0};
        std::atomic<std::uint64_t> completion_tokens{0};
    };
    const Totals& totals() const { return totals_; }

private:
    struct Pending {
        UsageRow usage;
        std::map<std::int64_t, std::int64_t> first_tokens;  // streams by step
    };
    // Ascending, as rows are written; see jobs_max.
    using ByJob = std::map<JobId, Pending>;

    static void merge(Pending& into, const Pending& more);
    struct Unwritten {
        Pending counted;
        std::uint64_t writes;  // that had begun
    };
    Unwritten unwritten(JobId job);
    bool is_told_once(const Unwritten& unwritten);
    void finish_write(bool keep);
    void try_to_write();
    void run();

    db::Database* database_ = nullptr;
    std::mutex mutex_;
    std::condition_variable changed_;
    ByJob pending_;
    ByJob in_flight_;  // what the write that has begun takes
    bool writing_ = false;
    std::uint64_t writes_ = 0;  // begun
    bool stopping_ = false;
    std::thread thread_;
    Totals totals_;
    LogLimiter dropped_{std::chrono::seconds(10)};
};

}  // namespace berth::relay
