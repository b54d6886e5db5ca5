// Money arithmetic against plain 128-bit integers, ten million random cases.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "base/money.hpp"
#include "base/problem.hpp"
#include "support/sanitized.hpp"

namespace berth {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr int cases = test::sanitized ? 200'000 : 10'000'000;
constexpr int overflow_one_in = 32;  // ratios that may lead out of the range; a throw takes long

// Of every magnitude, with the edges of the range as often as anything else.
class Draw {
public:
    std::int64_t positive() {
        const std::uint64_t bits = random_();
        const auto value = static_cast<std::int64_t>(bits >> (1 + bits % 63));
        return bits % 64 == 5 ? most - value % 3 : value;
    }
    std::int64_t any() {
        const std::uint64_t bits = random_();
        if (bits % 128 == 7) return least + static_cast<std::int64_t>(bits >> 62);
        return bits % 2 == 0 ? positive() : -positive();
    }
    std::int64_t up_to(std::int64_t limit) {
        return static_cast<std::int64_t>(random_() % (static_cast<std::uint64_t>(limit) + 1));
    }

private:
    std::mt19937_64 random_{20'260'714};
};

// Nothing when the amount leaves the range.
template <class Function>
std::optional<std::int64_t> result(const Function& function) {
    try {
        return function().value;
    } catch (const Problem&) {
        return std::nullopt;
    }
}

std::optional<std::int64_t> narrow(Wide value) {
    if (value < Wide{least} || value > Wide{most}) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

TEST(MoneyCases, AreThoseOfWideIntegersOrAreRefused) {
    Draw draw;
    int refused = 0;
    for (int i = 0; i < cases; ++i) {
        const std::int64_t a = draw.any();
        const std::int64_t b = draw.any();
        const auto sum = result([&] { return Micro{a} + Micro{b}; });
        const auto difference = result([&] { return Micro{a} - Micro{b}; });
        ASSERT_EQ(sum, narrow(Wide{a} + b)) << a << " + " << b;
        ASSERT_EQ(difference, narrow(Wide{a} - b)) << a << " - " << b;

        const Micro amount{draw.positive()};
        Ratio ratio{draw.positive(), 1 + draw.positive() / 2};
        if (ratio.numerator > ratio.denominator && i % overflow_one_in != 0)
            std::swap(ratio.numerator, ratio.denominator);
        const auto scaled = result([&] { return scale_floor(amount, ratio); });
        ASSERT_EQ(scaled, narrow(Wide{amount.value} * ratio.numerator / ratio.denominator))
            << amount.value << " * " << ratio.numerator << " / " << ratio.denominator;
        refused += !sum + !difference + !scaled;
    }
    EXPECT_GT(refused, cases / 200);
}

// A job is charged in steps. Each step's fee is the fee of the whole so far less what was taken, as
// the ledger does it: host and fee are never negative, and at the end the fee is that of the total.
TEST(MoneyCases, AChargeInStepsIsTheFeeAndTheHostsShare) {
    Draw draw;
    for (int i = 0; i < cases / 50; ++i) {
        const std::int64_t bps = draw.up_to(10'000);
        Micro total;
        Micro fees;
        Micro host;
        for (int step = 0; step < 5; ++step) {
            const Micro charge{draw.up_to(draw.positive() / 16)};
            const Micro before = scale_floor(total, {bps, 10'000});
            total += charge;
            const Micro fee = scale_floor(total, {bps, 10'000}) - before;
            ASSERT_GE(fee, Micro{0});
            ASSERT_GE(charge - fee, Micro{0});
            fees += fee;
            host += charge - fee;
        }
        ASSERT_EQ(fees + host, total);
        ASSERT_EQ(Wide{fees.value}, Wide{total.value} * bps / 10'000);
    }
}

}  // namespace
}  // namespace berth
