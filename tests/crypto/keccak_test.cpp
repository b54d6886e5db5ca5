#include "crypto/keccak.hpp"

#include <gtest/gtest.h>

namespace berth::crypto {
namespace {

TEST(Keccak256, HasEthereumsPaddingNotThatOfSha3) {
    const std::vector<std::pair<std::string, std::string>> vectors{
        {"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"},
        {"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"},
        {"The quick brown fox jumps over the lazy dog",
         "4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15"},
        {"Transfer(address,address,uint256)",  // the topic of every token transfer
         "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"}};
    for (const auto& [data, digest] : vectors) EXPECT_EQ(to_hex(keccak256(data)), digest) << data;
}

}  // namespace
}  // namespace berth::crypto
