// Counts what passes through the relay, by job. Requests are counted in memory when they are over
// and written together, once a second; nothing is billed by it. A process that dies loses at most
// the last second.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "base/seldom.hpp"
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

    void add(JobId job, const Tally& tally);
    // Writes what there is. Throws what the database does, and keeps what could not be written.
    void write(db::Database& database);
    // With what this process has not written yet, which is written first.
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

    std::mutex writing_;  // one writes at a time, so that whoever reads next sees all of it
    std::mutex mutex_;
    ByJob pending_;
    Totals totals_;
    Seldom dropped_{std::chrono::seconds(10)};
};

}  // namespace berth::relay
