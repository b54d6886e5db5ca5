// RLP, the encoding of Ethereum's transactions: byte strings and lists of them. The decoder takes
// only the one encoding that the encoder gives for a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace berth::chain::rlp {

Bytes encode_bytes(std::string_view bytes);
Bytes encode_number(std::uint64_t number);         // big endian without leading zeros; 0 is empty
Bytes encode_number(std::string_view big_endian);  // of any length; leading zeros are dropped
Bytes encode_list(std::string_view encoded_items);

struct Item {
    bool is_list = false;
    Bytes bytes{};              // of a string
    std::vector<Item> items{};  // of a list

    friend bool operator==(const Item&, const Item&) = default;
};

Bytes encode(const Item& item);

inline constexpr std::size_t decode_bytes_max = 128 * 1024;  // what nodes take as a transaction
inline constexpr int decode_depth_max = 16;

// Empty unless all of `data` is exactly one item within these bounds.
std::optional<Item> decode(std::string_view data);

}  // namespace berth::chain::rlp
