#include "http/pool.hpp"

#include <utility>

#include "base/check.hpp"

namespace berth::http {

Pool::Pool(std::size_t threads, std::size_t queue_max) : queue_max_(queue_max) {
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

bool Pool::post(std::function<void()> work) {
    bool wakes = false;
    {
        const std::lock_guard lock(mutex_);
        if (queue_.size() >= queue_max_) return false;
        queue_.push_back(std::move(work));
        wakes = needs_another();
    }
    if (wakes) wake_.notify_one();
    return true;
}

// One thread at a time is woken, and wakes the next when there is more than it can take: work that
// comes in a burst costs few wakes. Under the lock.
bool Pool::needs_another() {
    return !queue_.empty() && waiting_ > 0 && !std::exchange(waking_, true);
}

void Pool::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        while (queue_.empty()) {
            if (stopping_) return;
            ++waiting_;
            wake_.wait(lock);
            --waiting_;
            waking_ = false;
        }
        std::function<void()> work = std::move(queue_.front());
        queue_.pop_front();
        const bool wakes = needs_another();
        lock.unlock();
        if (wakes) wake_.notify_one();
        work();
        work = nullptr;  // what it holds must not be freed under the lock
        lock.lock();
    }
}

}  // namespace berth::http
