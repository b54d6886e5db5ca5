// Two connections that become one: what comes on either goes out on the other, at the pace of the
// slower side, until both have finished. Plain sockets that have much to say are spliced, so that
// their bytes stay in the kernel; an idle pair holds no buffer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "http/carrier.hpp"
#include "http/loop.hpp"

namespace berth::http {

// Bytes that went over, of one pair or of many together. Any thread may read them.
struct PumpCounters {
    std::atomic<std::uint64_t> from_a{0};
    std::atomic<std::uint64_t> from_b{0};
};

// How fast pairs that share this may be, each way: buckets of a fifth of a second, in bits a
// second.
class Pace {
public:
    using Clock = std::chrono::steady_clock;
    enum class Way : std::uint8_t { from_a, from_b };

    explicit Pace(std::int64_t rate_bps = 0) : rate_bps_(rate_bps) {}

    // From any thread, also while pairs are open. 0: no limit.
    void set_rate_bps(std::int64_t rate_bps);
    bool is_limited() const { return rate_bps_.load(std::memory_order_relaxed) > 0; }

    struct Leave {
        std::size_t bytes = 0;  // may go now, and are taken off
        Duration wait{};        // with none: when to ask again
    };
    Leave take(Way way, std::size_t wanted, Clock::time_point now);
    void give_back(Way way, std::size_t bytes);  // that were not needed

private:
    struct Bucket {
        double bytes = 0;
        Clock::time_point filled_at{};
    };
    std::atomic<std::int64_t> rate_bps_;
    std::mutex mutex_;
    Bucket buckets_[2];
};

enum class PumpEnd {
    finished,  // both sides have sent all they wanted to, and it has been passed on
    broken,    // one side was reset or is gone; the other was reset
    ended,     // by the owner
};

struct PumpOptions {
    std::shared_ptr<Pace> pace{};              // null: no limit
    std::shared_ptr<PumpCounters> counters{};  // null: nobody counts
    // Once, on the loop's thread, when both sockets are closed; never from inside join() or end().
    // Not when the loop ended first.
    std::function<void(PumpEnd)> on_end{};
};

// A pair that goes on by itself. This only names it, and may be copied, kept or dropped.
class Pump {
public:
    class Pair;

    Pump() = default;
    Pump(std::shared_ptr<Loop> loop, std::weak_ptr<Pair> pair)
        : loop_(std::move(loop)), pair_(std::move(pair)) {}

    void end() const;  // from any thread: both sides are reset. Harmless when it is over
    bool is_over() const { return pair_.expired(); }

private:
    std::shared_ptr<Loop> loop_;
    std::weak_ptr<Pair> pair_;
};

// From any thread.
Pump join(const std::shared_ptr<Loop>& loop, Carrier a, Carrier b, PumpOptions options);

}  // namespace berth::http
