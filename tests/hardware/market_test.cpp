// The suggested price: which basis counts, and its arithmetic.
#include "hardware/market.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace berth::hardware {
namespace {

constexpr PriceSource one{"One", "https://one.example/prices", "2026-01-02"};
constexpr PriceSource two{"Two", "https://two.example/prices", "2026-01-03"};

const GpuModel& gpu(std::string_view key) { return *find_gpu(key); }

TEST(MarketPrices, ThreeListingsBeatEveryReference) {
    const ReferencePrice prices[] = {{"rtx-4090", {900'000}, one}};
    const Listing listings[] = {{{500'000}, 1}, {{800'001}, 2}, {{700'000}, 1}};
    const auto price = market_price(gpu("rtx-4090"), listings, std::nullopt, prices);
    ASSERT_TRUE(price);
    EXPECT_EQ(price->gpu_model, "RTX 4090");
    EXPECT_EQ(price->basis, PriceBasis::listings);
    EXPECT_EQ(price->median_per_gpu_hour.value, 500'000);  // of 400,000, 500,000 and 700,000
    EXPECT_EQ(price->sample_size, 3);
    EXPECT_TRUE(price->sources.empty());
}

TEST(MarketPrices, AnEvenNumberOfListingsGivesTheFloorOfTheMiddleTwo) {
    const Listing listings[] = {{{1}, 1}, {{4}, 1}, {{7}, 1}, {{100}, 1}};
    EXPECT_EQ(market_price(gpu("rtx-4090"), listings, {}, {})->median_per_gpu_hour.value, 5);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Listing huge[] = {{{most}, 1}, {{most}, 1}, {{most}, 1}, {{most}, 1}};
    const auto price = market_price(gpu("rtx-4090"), huge, {}, {});
    EXPECT_EQ(price->median_per_gpu_hour.value, most);
    EXPECT_EQ(price->estimate->per_million_tokens.value, most);
}

TEST(MarketPrices, TwoListingsAreTooFewAndTheReferenceCounts) {
    const Listing listings[] = {{{1}, 1}, {{2}, 1}};
    const ReferencePrice prices[] = {{"rtx-4090", {400}, one}, {"rtx-4090", {100}, two},
                                     {"rtx-3090", {999}, two}, {"rtx-4090", {300}, one},
                                     {"rtx-4090", {200}, one}, {"rtx-4090", {500}, one}};
    const auto price = market_price(gpu("rtx-4090"), listings, {}, prices);
    ASSERT_TRUE(price);
    EXPECT_EQ(price->basis, PriceBasis::reference);
    EXPECT_EQ(price->median_per_gpu_hour.value, 400);  // the fourth of five
    EXPECT_EQ(price->sample_size, 5);
    EXPECT_EQ(price->sources, (std::vector{one, two}));
}

TEST(MarketPrices, WithoutAPriceOfItsOwnTheBandwidthCounts) {
    // Per GB/s: 1, 2, 3 and 4 micro-units; the third of four is the 75th percentile.
    const ReferencePrice prices[] = {{"rtx-4090", {3 * 1008}, one},
                                     {"h100-sxm-80gb", {1 * 3350}, one},
                                     {"l40s", {4 * 864}, two},
                                     {"t4", {2 * 320}, one}};
    const auto price = market_price(gpu("rtx-a5000"), {}, {}, prices);
    ASSERT_TRUE(price);
    EXPECT_EQ(price->basis, PriceBasis::throughput);
    EXPECT_EQ(price->median_per_gpu_hour.value, 3 * 768);
    EXPECT_EQ(price->sample_size, 4);
    EXPECT_EQ(price->sources.size(), 2u);
}

TEST(MarketPrices, WithoutAnyBasisThereIsNone) {
    EXPECT_FALSE(market_price(gpu("rtx-4090"), {}, {}, {}));
    const GpuModel unknown{"x", "X", 0, 0};
    const ReferencePrice prices[] = {{"rtx-4090", {400}, one}};
    EXPECT_FALSE(market_price(unknown, {}, {}, prices));
}

TEST(MarketPrices, TheEstimateComesFromTheBandwidthAlone) {
    const ReferencePrice prices[] = {{"rtx-4090", {400'000}, one}};
    const auto price = market_price(gpu("rtx-4090"), {}, 25'757'220'864, prices);
    ASSERT_TRUE(price && price->estimate);
    EXPECT_DOUBLE_EQ(price->estimate->tok_s_8b, 126);
    EXPECT_EQ(price->estimate->per_million_tokens.value, 881'834);  // 4e11 / (126 * 3600)
    EXPECT_EQ(price->estimate->fits_up_to_b_params, 38);
    EXPECT_EQ(market_price(gpu("rtx-4090"), {}, {}, prices)->estimate->fits_up_to_b_params, 36);

    const GpuModel unknown{"x", "X", 0, 0};
    const Listing listings[] = {{{1}, 1}, {{2}, 1}, {{3}, 1}};
    EXPECT_FALSE(market_price(unknown, listings, {}, {})->estimate);
}

TEST(MarketPrices, EveryShippedPriceNamesAKnownModelAndItsSource) {
    EXPECT_GE(reference_prices().size(), 50u);
    for (const ReferencePrice& price : reference_prices()) {
        EXPECT_NE(find_gpu(price.gpu), nullptr) << price.gpu;
        EXPECT_GT(price.per_gpu_hour.value, 0) << price.gpu;
        EXPECT_FALSE(price.source.label.empty());
        EXPECT_TRUE(price.source.url.starts_with("https://")) << price.source.url;
        EXPECT_EQ(price.source.accessed.size(), 10u);
    }
    // Every model of the table has a suggestion out of the box.
    for (const GpuModel& model : gpu_models())
        EXPECT_TRUE(market_price(model, {}, {}, reference_prices())) << model.key;
}

}  // namespace
}  // namespace berth::hardware
