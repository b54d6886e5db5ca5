// Randomness is passed in, never reached for, so that a test can repeat a run to the byte.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.hpp"

namespace berth {

class Random {
public:
    virtual ~Random() = default;
    virtual void fill(std::span<char> out) = 0;

    Bytes bytes(std::size_t count);
    // Uniform in 0 .. bound - 1.
    std::uint64_t below(std::uint64_t bound);
};

// The kernel's generator; safe to call from any thread.
class SystemRandom final : public Random {
public:
    void fill(std::span<char> out) override;
};

}  // namespace berth
