// The one way to wait in tests: for something to become true, up to a bound.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace berth::support {

// The bound is met only by what is broken, or by a machine that others have to themselves for
// minutes.
struct Patience {
    std::chrono::milliseconds at_most{240'000};
    std::chrono::milliseconds look_every{2};
};

// Waits for something that happens on another thread or in another process. False when it did not.
template <class Predicate>
[[nodiscard]] bool eventually(const Predicate& predicate, const Patience& patience = {}) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable nobody_signals;
    const auto deadline = std::chrono::steady_clock::now() + patience.at_most;
    while (!predicate()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        nobody_signals.wait_for(lock, patience.look_every);
    }
    return true;
}

}  // namespace berth::support
