#include "base/random.hpp"
#include "base/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

namespace berth {
namespace {

// Gives out the eight-byte values it was made with.
class Script final : public Random {
public:
    explicit Script(std::initializer_list<std::uint64_t> values) {
        for (const std::uint64_t value : values) append_big_endian(bytes_, value);
    }
    void fill(std::span<char> out) override {
        ASSERT_LE(out.size(), bytes_.size());
        std::copy_n(bytes_.begin(), out.size(), out.begin());
        bytes_.erase(0, out.size());
    }
    bool used_up() const { return bytes_.empty(); }

private:
    Bytes bytes_;
};

TEST(Random, BelowDrawsAgainWhereABiasWouldBe) {
    Script low{0, 1};  // 2^64 mod 3 is 1: the value 0 is refused
    EXPECT_EQ(low.below(3), 1U);
    EXPECT_TRUE(low.used_up());
    Script exact{0};  // a power of two refuses nothing
    EXPECT_EQ(exact.below(8), 0U);
    Script highest{~0ULL};
    EXPECT_EQ(highest.below(10), 5U);
    Script one{12345};
    EXPECT_EQ(one.below(1), 0U);
    Script wide{~0ULL, 0, 1};  // 2^64 mod (2^64 - 1) is 1
    EXPECT_EQ(wide.below(~0ULL), 0U);
}

TEST(Random, BelowIsUniform) {
    constexpr int draws = 60'000;
    SystemRandom random;
    std::array<int, 6> seen{};
    for (int i = 0; i < draws; ++i) ++seen.at(random.below(seen.size()));
    // Eleven standard deviations: a fair die fails this once in 10^27 runs.
    for (const int count : seen) EXPECT_NEAR(count, 10'000, 1'000);
}

TEST(Random, SystemRandomFillsWhatItIsGiven) {
    SystemRandom random;
    EXPECT_EQ(random.bytes(0), "");
    const Bytes a = random.bytes(1'000);
    EXPECT_EQ(a.size(), 1'000U);
    EXPECT_NE(a, random.bytes(1'000));
    EXPECT_GT(std::count_if(a.begin(), a.end(), [](char c) { return c != 0; }), 900);
}

TEST(Random, NothingIsBelowZero) {
    SystemRandom random;
    EXPECT_THROW(random.below(0), Bug);
}

}  // namespace
}  // namespace berth
