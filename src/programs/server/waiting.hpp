// For what another thread brings about, within a time.
#pragma once

#include <chrono>
#include <thread>

namespace berth::server {

// Asks again and again until it is so; false when that takes too long.
template <class Predicate>
bool wait_until(std::chrono::seconds at_most, const Predicate& predicate) {
    constexpr std::chrono::milliseconds look_again_after{20};
    const auto until = std::chrono::steady_clock::now() + at_most;
    while (!predicate()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(look_again_after);
    }
    return true;
}

}  // namespace berth::server
