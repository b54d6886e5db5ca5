// A fixed number of threads and bounded queues: where handlers run that may block on the database.
//
// Work comes in lanes. Whatever one of them waits for, the others go on: a few threads are kept for
// each, and each has a queue of its own. Beyond that who came first is served first.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::http {

class Pool {
public:
    enum class Lane {
        reads,
        writes,  // which wait for each other
        first,   // of callers who must be heard
    };
    static constexpr std::size_t lane_count = 3;
    static constexpr std::size_t reserve_part = 8;  // one thread in so many is kept for a lane

    // The queue of each lane holds `queue_max`.
    Pool(std::size_t threads, std::size_t queue_max);
    ~Pool();  // runs what is queued, then joins
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // False, and nothing queued, when the queue is full.
    [[nodiscard]] bool post(std::function<void()> work, Lane lane = Lane::reads);

private:
    struct Work {
        std::uint64_t number;  // of all that came
        std::function<void()> run;
    };
    struct Queue {
        std::deque<Work> works;
        std::size_t running = 0;
    };

    void run();
    bool needs_another();
    bool may_start(const Queue& queue) const;
    Queue* next();
    bool is_empty() const;

    const std::size_t threads_max_;
    const std::size_t queue_max_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::array<Queue, lane_count> queues_;
    std::uint64_t numbers_ = 0;
    std::size_t running_ = 0;  // of all lanes
    std::size_t waiting_ = 0;  // threads without work
    bool waking_ = false;      // one of them was woken and has not looked yet
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace berth::http
