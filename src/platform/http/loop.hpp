// The way onto an I/O thread from any other. It may be kept longer than the loop lives.
#pragma once

#include <functional>
#include <mutex>

namespace berth::http {

class Loop {
public:
    using Work = std::function<void()>;

    explicit Loop(std::function<void(Work)> post) : post_(std::move(post)) {}

    // Runs `work` on the I/O thread, soon and in order. Once the loop has ended it is dropped.
    void post(Work work) {
        const std::lock_guard lock(mutex_);
        if (post_) post_(std::move(work));
    }
    void close() {
        const std::lock_guard lock(mutex_);
        post_ = nullptr;
    }

private:
    std::mutex mutex_;
    std::function<void(Work)> post_;
};

}  // namespace berth::http
