#include "http/pool.hpp"

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
    {
        const std::lock_guard lock(mutex_);
        if (queue_.size() >= queue_max_) return false;
        queue_.push_back(std::move(work));
    }
    wake_.notify_one();
    return true;
}

void Pool::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        std::function<void()> work = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        work();
        work = nullptr;  // what it holds must not be freed under the lock
        lock.lock();
    }
}

}  // namespace berth::http
