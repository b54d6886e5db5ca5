// Says when something that may happen very often is logged: once in a while, with how often it has
// happened. Called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

namespace berth {

class LogLimiter {
public:
    explicit LogLimiter(std::chrono::steady_clock::duration every) : every_(every) {}

    // Notes one more. How many there were since it was last told, when it is time to tell; else 0.
    std::int64_t note() {
        const auto now = std::chrono::steady_clock::now();
        const std::lock_guard lock(mutex_);
        ++count_;
        if (told_ && now - told_at_ < every_) return 0;
        told_ = true;
        told_at_ = now;
        return std::exchange(count_, 0);
    }

private:
    const std::chrono::steady_clock::duration every_;
    std::mutex mutex_;
    std::int64_t count_ = 0;
    bool told_ = false;
    std::chrono::steady_clock::time_point told_at_{};
};

}  // namespace berth
