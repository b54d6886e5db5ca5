#include "base/money.hpp"
#include "base/check.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/problem.hpp"

namespace berth {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

// Of every magnitude, so that both small results and overflows are common.
std::int64_t any_magnitude(std::mt19937_64& random) {
    return static_cast<std::int64_t>(random() >> (1 + random() % 63));
}

bool fits(Wide value) { return value >= Wide{least} && value <= Wide{most}; }

TEST(Money, AddsAndSubtractsLikeWideIntegersOrRefuses) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 100'000; ++i) {
        const Micro a{any_magnitude(random) * (random() % 2 ? 1 : -1)};
        const Micro b{any_magnitude(random) * (random() % 2 ? 1 : -1)};
        const Wide sum = Wide{a.value} + b.value;
        const Wide difference = Wide{a.value} - b.value;
        if (fits(sum))
            ASSERT_EQ(Wide{(a + b).value}, sum);
        else
            ASSERT_THROW(a + b, Problem);
        if (fits(difference))
            ASSERT_EQ(Wide{(a - b).value}, difference);
        else
            ASSERT_THROW(a - b, Problem);
    }
}

TEST(Money, ScalesLikeWideIntegersOrRefuses) {
    std::mt19937_64 random(12);
    int refused = 0;
    for (int i = 0; i < 100'000; ++i) {
        const Micro amount{any_magnitude(random)};
        const Ratio ratio{any_magnitude(random), std::max<std::int64_t>(1, any_magnitude(random))};
        const Wide expected = Wide{amount.value} * ratio.numerator / ratio.denominator;
        if (fits(expected)) {
            ASSERT_EQ(Wide{scale_floor(amount, ratio).value}, expected);
        } else {
            ASSERT_THROW(scale_floor(amount, ratio), Problem);
            ++refused;
        }
    }
    EXPECT_GT(refused, 1'000);
}

TEST(Money, KeepsTheEdgesOfTheRange) {
    EXPECT_EQ(Micro{most} + Micro{0}, Micro{most});
    EXPECT_THROW(Micro{most} + Micro{1}, Problem);
    EXPECT_THROW(Micro{least} - Micro{1}, Problem);
    EXPECT_THROW(-Micro{least}, Problem);
    EXPECT_EQ(-Micro{most}, Micro{-most});
    EXPECT_EQ(scale_floor({most}, {most, most}), Micro{most});
    EXPECT_THROW(scale_floor({most}, {2, 1}), Problem);
    EXPECT_EQ(scale_floor({most}, {0, 1}), Micro{0});
    Micro running{5};
    running += {2};
    running -= {10};
    EXPECT_EQ(running, Micro{-3});
}

TEST(Money, TheFeeAndTheRestAreTheCharge) {
    for (std::int64_t charge = 0; charge < 30'000; ++charge) {
        const Micro fee = scale_floor({charge}, {1'000, 10'000});
        ASSERT_EQ(fee.value, charge / 10);
        ASSERT_EQ(fee + (Micro{charge} - fee), Micro{charge});
    }
}

TEST(Money, NegativeAmountsAreNeverScaled) {
    EXPECT_THROW(scale_floor({-1}, {1, 1}), Bug);
    EXPECT_THROW(scale_floor({1}, {1, 0}), Bug);
}

TEST(DecimalString, HasOneSpellingForEachNumber) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, std::int64_t{9},
                                     std::int64_t{10}, std::int64_t{5'000'000}, most})
        EXPECT_EQ(parse_decimal(to_string(Micro{value})), value);
}

TEST(DecimalString, RefusesEverythingElse) {
    for (const std::string text :
         {"", "00", "01", "-1", "-0", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1,000", "1_000", "a",
          "9223372036854775808", "99999999999999999999", "\xd9\xa1", "1\n"})
        EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
    EXPECT_EQ(parse_decimal(std::string_view("1\0", 2)), std::nullopt);
}

}  // namespace
}  // namespace berth
