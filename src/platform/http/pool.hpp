// A fixed number of threads and a bounded queue: where handlers run that may block on the database.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::http {

class Pool {
public:
    Pool(std::size_t threads, std::size_t queue_max);
    ~Pool();  // runs what is queued, then joins
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // False, and nothing queued, when the queue is full.
    [[nodiscard]] bool post(std::function<void()> work);

private:
    void run();
    bool needs_another();

    const std::size_t queue_max_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> queue_;
    std::size_t waiting_ = 0;  // threads without work
    bool waking_ = false;      // one of them was woken and has not looked yet
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace berth::http
