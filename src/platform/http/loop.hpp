// The way onto an I/O thread from any other. It may be kept longer than the loop lives.
#pragma once

#include <functional>
#include <mutex>

#include "base/time.hpp"

namespace boost::asio {
class io_context;
}

namespace berth::http {

class Loop {
public:
    using Work = std::function<void()>;

    // `io` is what sockets of this folder wait on; without it there is only post().
    explicit Loop(std::function<void(Work)> post, boost::asio::io_context* io = nullptr)
        : post_(std::move(post)), io_(io) {}

    // Runs `work` on the I/O thread, soon and in order. Once the loop has ended it is dropped.
    void post(Work work) {
        const std::lock_guard lock(mutex_);
        if (post_) post_(std::move(work));
    }
    // The same, but not before `span` is over. It cannot be taken back: `work` looks whether it is
    // still wanted.
    void after(Duration span, Work work);
    void close() {
        const std::lock_guard lock(mutex_);
        post_ = nullptr;
        io_ = nullptr;
    }

    // For the files of this folder, on the I/O thread.
    boost::asio::io_context& io() const;

private:
    mutable std::mutex mutex_;
    std::function<void(Work)> post_;
    boost::asio::io_context* io_;
};

}  // namespace berth::http
