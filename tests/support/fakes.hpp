// Hand-written stand-ins for the edges of the process: time and randomness that a test controls.
#pragma once

#include <mutex>

#include "base/random.hpp"
#include "base/time.hpp"

namespace berth::test {

class ManualClock final : public Clock {
public:
    explicit ManualClock(std::int64_t seconds = 1'800'000'000) : micros_(seconds * 1'000'000) {}

    Time now() const override { return {micros_.load()}; }
    void advance(Duration span) { micros_ += span.count(); }

private:
    std::atomic<std::int64_t> micros_;
};

// The same bytes for the same seed (splitmix64).
class SeededRandom final : public Random {
public:
    explicit SeededRandom(std::uint64_t seed = 1) : state_(seed) {}

    void fill(std::span<char> out) override {
        const std::lock_guard lock(mutex_);
        for (char& byte : out) byte = static_cast<char>(next() & 0xFF);
    }

private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    std::mutex mutex_;
    std::uint64_t state_;
};

}  // namespace berth::test
