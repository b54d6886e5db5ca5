// What memory is filled with to see whether it keeps it: every word differs, and follows from a
// seed that nobody knew before. The kernels of gpu compute the same.
#pragma once

#include <cstdint>

namespace berth::card_proof {

constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t word = (index + 1) * 0x9E3779B97F4A7C15u ^ seed;
    word ^= word >> 29;
    word *= 0xBF58476D1CE4E5B9u;
    return word ^ (word >> 32);
}

}  // namespace berth::card_proof
