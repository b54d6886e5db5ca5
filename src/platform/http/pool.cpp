#include "http/pool.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace berth::http {

Pool::Pool(std::size_t threads, std::size_t queue_max)
    : threads_max_(threads), queue_max_(queue_max) {
    check(threads > 0, "a pool without threads would run nothing");
    threads_.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Pool::~Pool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

bool Pool::post(std::function<void()> work, Lane lane) {
    bool wakes = false;
    {
        const std::lock_guard lock(mutex_);
        Queue& queue = queues_[static_cast<std::size_t>(lane)];
        if (queue.works.size() >= queue_max_) return false;
        queue.works.push_back({++numbers_, std::move(work)});
        wakes = needs_another();
    }
    if (wakes) wake_.notify_one();
    return true;
}

// One thread at a time is woken, and wakes the next when there is more than it can take: work that
// comes in a burst costs few wakes. Under the lock.
bool Pool::needs_another() {
    return waiting_ > 0 && next() != nullptr && !std::exchange(waking_, true);
}

// Whether there is work, and every other lane could still have the threads that are kept for it.
// A pool that ends runs everything.
bool Pool::may_start(const Queue& queue) const {
    if (queue.works.empty()) return false;
    const std::size_t reserve = threads_max_ / reserve_part;
    std::size_t kept = 0;
    for (const Queue& other : queues_)
        if (&other != &queue && other.running < reserve) kept += reserve - other.running;
    return stopping_ || running_ + 1 + kept <= threads_max_;
}

// The lane whose turn it is; null when there is nothing to start.
Pool::Queue* Pool::next() {
    Queue* first = nullptr;
    for (Queue& queue : queues_)
        if (may_start(queue) &&
            (first == nullptr || queue.works.front().number < first->works.front().number))
            first = &queue;
    return first;
}

bool Pool::is_empty() const {
    return std::all_of(queues_.begin(), queues_.end(),
                       [](const Queue& queue) { return queue.works.empty(); });
}

void Pool::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        Queue* queue = nullptr;
        while ((queue = next()) == nullptr) {
            if (stopping_ && is_empty()) return;
            ++waiting_;
            wake_.wait(lock);
            --waiting_;
            waking_ = false;
        }
        std::function<void()> work = std::move(queue->works.front().run);
        queue->works.pop_front();
        ++queue->running;
        ++running_;
        const bool wakes = needs_another();
        lock.unlock();
        if (wakes) wake_.notify_one();
        work();
        work = nullptr;  // what it holds must not be freed under the lock
        lock.lock();
        --queue->running;
        --running_;
    }
}

}  // namespace berth::http
