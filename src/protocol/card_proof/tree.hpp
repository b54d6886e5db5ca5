// Hash trees over what a card made: the root is told before anybody says what will be asked for, so
// that nothing can be made up afterwards. A leaf is the SHA-256 of its bytes, an inner node that of
// its two children. Missing leaves of the lowest level are 32 zero bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace berth::card_proof {

inline constexpr std::size_t hash_bytes = 32;

// How many levels a tree over so many leaves has above them.
std::size_t levels_over(std::uint64_t leaves);

class Tree {
public:
    explicit Tree(std::vector<Bytes> leaf_hashes);

    const Bytes& root() const { return levels_.back().front(); }
    // The neighbours from the leaf up to below the root, one after the other.
    Bytes path(std::uint64_t leaf) const;

private:
    std::vector<std::vector<Bytes>> levels_;  // the leaves first
};

// The root that the leaf of these bytes at this place and its path lead to.
Bytes root_over(std::string_view leaf_bytes, std::uint64_t leaf, std::string_view path);

}  // namespace berth::card_proof
