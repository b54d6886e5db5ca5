// Mail that goes no further than the test.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "mail/transport.hpp"

namespace berth::test {

class FakeTransport final : public mail::Transport {
public:
    void deliver(const mail::Envelope& envelope) override {
        std::function<void()> fail;
        {
            const std::lock_guard lock(mutex_);
            ++attempts_;
            fail = fail_;
            if (!fail || taken_before_failing_) sent_.push_back(envelope);
        }
        if (fail) fail();
    }

    // From now on deliver() calls `fail`, which throws; an empty one makes it work again.
    void fail_with(std::function<void()> fail) {
        const std::lock_guard lock(mutex_);
        fail_ = std::move(fail);
        taken_before_failing_ = false;
    }
    // The mail goes out and then the worker does not come to say so.
    void die_after_delivery() {
        const std::lock_guard lock(mutex_);
        fail_ = [] { throw std::runtime_error("the worker died"); };
        taken_before_failing_ = true;
    }

    std::vector<mail::Envelope> sent() const {
        const std::lock_guard lock(mutex_);
        return sent_;
    }
    int attempts() const {
        const std::lock_guard lock(mutex_);
        return attempts_;
    }

private:
    mutable std::mutex mutex_;
    std::function<void()> fail_;
    bool taken_before_failing_ = false;
    std::vector<mail::Envelope> sent_;
    int attempts_ = 0;
};

}  // namespace berth::test
