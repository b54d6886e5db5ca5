// A loop with a thread of its own, for sockets that belong to no Server.
#pragma once

#include <memory>

#include "http/loop.hpp"

namespace berth::http {

class LoopThread {
public:
    LoopThread();
    // Everything that waits on the loop is closed; nobody is told.
    ~LoopThread();
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    const std::shared_ptr<Loop>& loop() const { return loop_; }

private:
    struct State;
    std::unique_ptr<State> state_;
    std::shared_ptr<Loop> loop_;
};

}  // namespace berth::http
