#include <gtest/gtest.h>

#include "base/random.hpp"
#include "card_proof/lanes.hpp"
#include "card_proof/product.hpp"
#include "card_proof/tree.hpp"
#include "crypto/hash.hpp"

namespace berth::card_proof {
namespace {

constexpr ProductSize small{.rows = 64, .columns = 128, .depth = 64};

std::vector<std::uint64_t> lane(std::uint64_t seed, std::size_t words) {
    std::vector<std::uint64_t> made(words);
    make_lane(seed, made);
    return made;
}

// The kernels on a card and agents of earlier versions make the same: these numbers never change.
TEST(Lanes, AreTheSameEverywhere) {
    const auto made = lane(lane_seed("seed", 0, 7), 1024);
    EXPECT_EQ(lane_seed("seed", 0, 7), 2458359598487293614U);
    EXPECT_EQ(made[0], 14095066551273711412U);
    EXPECT_EQ(made[1023], 5601226479057358966U);
    EXPECT_EQ(to_hex(crypto::sha256(bytes_of(made))),
              "fce1d8e1cca24fc9a56ea62bbf4e0291562f67b3198ad85066bc8fa1d638b59e");
}

TEST(Lanes, DifferWithTestCardAndLane) {
    EXPECT_NE(lane_seed("a", 0, 1), lane_seed("b", 0, 1));
    EXPECT_NE(lane_seed("a", 0, 1), lane_seed("a", 1, 1));
    EXPECT_NE(lane_seed("a", 0, 1), lane_seed("a", 0, 2));
    EXPECT_NE(lane_seed("a", 1, 12), lane_seed("a", 11, 2));
}

// One word less, and nearly everything behind it is another: the lane cannot be had in part.
TEST(Lanes, FollowFromEarlierWordsOnly) {
    const auto whole = lane(99, 4096);
    const auto half = lane(99, 2048);
    EXPECT_TRUE(std::equal(half.begin(), half.end(), whole.begin()));
    auto other = lane(100, 4096);
    std::size_t same = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) same += whole[i] == other[i] ? 1U : 0U;
    EXPECT_EQ(same, 0U);
}

TEST(Trees, LeadFromEveryLeafToTheRoot) {
    for (const std::size_t count : {1U, 2U, 3U, 8U, 13U}) {
        std::vector<Bytes> leaves;
        for (std::size_t i = 0; i < count; ++i)
            leaves.push_back(crypto::sha256(std::string(1, static_cast<char>('a' + i))));
        const Tree tree(leaves);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string text(1, static_cast<char>('a' + i));
            const Bytes path = tree.path(i);
            EXPECT_EQ(path.size(), levels_over(count) * hash_bytes);
            EXPECT_EQ(root_over(text, i, path), tree.root());
            EXPECT_NE(root_over("z", i, path), tree.root());
            EXPECT_TRUE(count == 1 || root_over(text, i ^ 1, path) != tree.root());
        }
    }
}

std::vector<std::uint64_t> random_vector(std::uint64_t size) {
    SystemRandom random;
    std::vector<std::uint64_t> vector(size);
    for (auto& each : vector) each = load_big_endian(random.bytes(8).data());
    return vector;
}

TEST(Products, AreTheSameEverywhere) {
    const auto seeds = product_seeds("seed", 0);
    EXPECT_EQ(seeds.left, 7853976325081595967U);
    EXPECT_EQ(to_hex(crypto::sha256(bytes_of_row(product_row(small, seeds, 5)))),
              "b2b963b9cd7d7a5fb33675c5933b94b02cb779a015a863c8d78b4f2ad6cd6155");
}

TEST(Products, OneWrongNumberIsSeen) {
    const auto seeds = product_seeds("seed", 3);
    std::vector<ClaimedRow> rows;
    for (const std::uint64_t row : {0U, 17U, 63U})
        rows.push_back({row, bytes_of_row(product_row(small, seeds, row))});
    EXPECT_TRUE(are_rows_right(small, seeds, rows, random_vector(small.columns)));
    auto wrong = rows;
    wrong[1].bytes[41] = static_cast<char>(wrong[1].bytes[41] ^ 1);
    EXPECT_FALSE(are_rows_right(small, seeds, wrong, random_vector(small.columns)));
    auto moved = rows;
    moved[1].row = 18;
    EXPECT_FALSE(are_rows_right(small, seeds, moved, random_vector(small.columns)));
    auto cut = rows;
    cut[0].bytes.pop_back();
    EXPECT_FALSE(are_rows_right(small, seeds, cut, random_vector(small.columns)));
    EXPECT_FALSE(
        are_rows_right(small, product_seeds("other", 3), rows, random_vector(small.columns)));
}

}  // namespace
}  // namespace berth::card_proof
