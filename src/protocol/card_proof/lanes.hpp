// What a card's memory is filled with to prove that it is there: lanes, each a chain of words in
// which every word follows from the one before and from four earlier ones of its lane that nobody
// can name before. A lane therefore takes as long to make as so many reads of memory take one after
// the other, on any hardware, and who keeps a part of its words has to make most of it again to
// tell the others. Server and agent share this; a card does the same in kernels of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.hpp"

namespace berth::card_proof {

inline constexpr std::uint64_t word_bytes = 8;
// What the server names and the agent shows of a lane.
inline constexpr std::uint64_t block_words = 128;
inline constexpr std::uint64_t block_bytes = block_words * word_bytes;

inline constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
inline constexpr std::uint64_t second_place = 0xD6E8FEB86659FD93u;  // odd

constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// Each lane of each card of each test has its own.
std::uint64_t lane_seed(std::string_view test_seed, std::uint64_t card, std::uint64_t lane);

// Fills a whole lane.
void make_lane(std::uint64_t seed, std::span<std::uint64_t> words);

// The bytes of words as they are hashed and sent: little-endian.
Bytes bytes_of(std::span<const std::uint64_t> words);

}  // namespace berth::card_proof
