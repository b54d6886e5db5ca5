#include "card_proof/lanes.hpp"

#include <bit>

#include <fmt/format.h>

#include "crypto/hash.hpp"

namespace berth::card_proof {
namespace {

__extension__ using Wide = unsigned __int128;

// Of `below` places one, evenly: the upper half of the product.
std::uint64_t place(std::uint64_t random, std::uint64_t below) {
    return static_cast<std::uint64_t>((Wide{random} * below) >> 64);
}

}  // namespace

std::uint64_t lane_seed(std::string_view test_seed, std::uint64_t card, std::uint64_t lane) {
    const Bytes hash = crypto::sha256(fmt::format("{}:{}:{}", test_seed, card, lane));
    return load_big_endian(hash.data());
}

void make_lane(std::uint64_t seed, std::span<std::uint64_t> words) {
    if (words.empty()) return;
    std::uint64_t x = words[0] = mix(seed);
    for (std::uint64_t i = 1; i < words.size(); ++i) {
        const std::uint64_t m = mix(x + seed + i * golden);
        const std::uint64_t a = words[place(m, i)];
        const std::uint64_t b = words[place(m * second_place, i)];
        const std::uint64_t y = mix(x ^ a ^ std::rotl(b, 32));
        const std::uint64_t c = words[place(y, i)];
        const std::uint64_t d = words[place(y * second_place, i)];
        x = words[i] = mix((y + c) ^ std::rotl(d, 17));
    }
}

Bytes bytes_of(std::span<const std::uint64_t> words) {
    Bytes bytes;
    bytes.reserve(words.size() * word_bytes);
    for (std::uint64_t word : words)
        for (std::uint64_t i = 0; i < word_bytes; ++i, word >>= 8)
            bytes.push_back(static_cast<char>(word & 0xff));
    return bytes;
}

}  // namespace berth::card_proof
