// A Merkle tree whose nodes carry sums: the root stands for all that is owed and cannot leave an
// account out, or less of it, without that account's own path showing it.
//
//     leaf = sha256(0x00 ‖ account id (16) ‖ salt (32) ‖ balance (8, big-endian))
//     node = sha256(0x01 ‖ left hash ‖ left sum (8) ‖ right hash ‖ right sum (8))
//
// The last node of a level that has an odd number of them is carried up as it is.
#pragma once

#include <boost/describe.hpp>

#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/money.hpp"

namespace berth::liabilities {

inline constexpr std::size_t salt_bytes = 32;
inline constexpr std::size_t hash_bytes = 32;
inline constexpr std::size_t leaf_parts = 3;  // of each balance

struct Node {
    Bytes hash;
    Micro sum;
    friend bool operator==(const Node&, const Node&) = default;
};
using Level = std::vector<Node>;

// A part of a balance.
struct Leaf {
    AccountId account;
    Bytes salt;
    Micro balance;
};
Node node_of(const Leaf& leaf);
Node join(const Node& left, const Node& right);

// From the leaves, of which there is one at least, to the root.
std::vector<Level> grow(Level leaves);

enum class Side { left, right };
BOOST_DESCRIBE_ENUM(Side, left, right)
struct Step {  // a neighbour on the way to the root, and on which side it stands
    Side side{};
    Node node;
};
// Where the neighbours of the leaf at `index` are, from the leaves upwards.
struct Place {
    std::size_t level = 0;
    std::size_t index = 0;
    Side side{};
};
std::vector<Place> neighbours(std::size_t index, std::size_t leaves);
// What a leaf and its neighbours add up to: the root, if all of them are true.
Node climb(const Node& leaf, const std::vector<Step>& path);

}  // namespace berth::liabilities
