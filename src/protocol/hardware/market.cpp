#include "hardware/market.hpp"

#include <algorithm>
#include <limits>

namespace berth::hardware {
namespace {

__extension__ using Wide = unsigned __int128;

Wide wide(std::int64_t value) { return static_cast<Wide>(value); }

// An eight-billion-parameter model of 4.8 GB at 60 % of the bandwidth: GB/s * 0.6 / 4.8.
constexpr double tokens_per_gbps = 0.6 / 4.8;

// The place of the 75th percentile among `count` sorted values, by nearest rank.
std::size_t p75_index(std::size_t count) { return (count * 3 + 3) / 4 - 1; }

void add_source(std::vector<PriceSource>& sources, const PriceSource& source) {
    if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
}

std::optional<MarketPrice> by_listings(const GpuModel& model, std::span<const Listing> listings) {
    if (listings.size() < listings_min) return std::nullopt;
    std::vector<Micro> values;
    for (const Listing& listing : listings)
        values.push_back(scale_floor(listing.rate_per_hour, {1, listing.gpu_count}));
    return MarketPrice{.gpu_model = model.name,
                       .basis = PriceBasis::listings,
                       .median_per_gpu_hour = median(std::move(values)),
                       .sample_size = static_cast<std::int64_t>(listings.size()),
                       .sources = {},
                       .estimate = {}};
}

std::optional<MarketPrice> by_reference(const GpuModel& model,
                                        std::span<const ReferencePrice> prices) {
    std::vector<Micro> values;
    std::vector<PriceSource> sources;
    for (const ReferencePrice& price : prices) {
        if (price.gpu != model.key) continue;
        values.push_back(price.per_gpu_hour);
        add_source(sources, price.source);
    }
    if (values.empty()) return std::nullopt;
    std::ranges::sort(values);
    return MarketPrice{.gpu_model = model.name,
                       .basis = PriceBasis::reference,
                       .median_per_gpu_hour = values[p75_index(values.size())],
                       .sample_size = static_cast<std::int64_t>(values.size()),
                       .sources = std::move(sources),
                       .estimate = {}};
}

// A list price for each GB/s that its GPU has.
struct PerBandwidth {
    Micro price;
    std::int64_t gbps;

    friend bool operator<(const PerBandwidth& a, const PerBandwidth& b) {
        return wide(a.price.value) * wide(b.gbps) < wide(b.price.value) * wide(a.gbps);
    }
};

std::optional<MarketPrice> by_throughput(const GpuModel& model,
                                         std::span<const ReferencePrice> prices) {
    if (model.bandwidth_gbps <= 0) return std::nullopt;
    std::vector<PerBandwidth> values;
    std::vector<PriceSource> sources;
    for (const ReferencePrice& price : prices) {
        const GpuModel* gpu = find_gpu(price.gpu);
        if (!gpu || gpu->bandwidth_gbps <= 0) continue;
        values.push_back({price.per_gpu_hour, gpu->bandwidth_gbps});
        add_source(sources, price.source);
    }
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    const PerBandwidth& chosen = values[p75_index(values.size())];
    return MarketPrice{
        .gpu_model = model.name,
        .basis = PriceBasis::throughput,
        .median_per_gpu_hour = scale_floor(chosen.price, {model.bandwidth_gbps, chosen.gbps}),
        .sample_size = static_cast<std::int64_t>(values.size()),
        .sources = std::move(sources),
        .estimate = {}};
}

std::optional<TokenEstimate> estimate(const GpuModel& model, Micro price,
                                      std::optional<std::int64_t> vram_bytes) {
    if (model.bandwidth_gbps <= 0) return std::nullopt;
    // An eighth of the GB/s is the tokens a second: price * 10^6 / (GB/s / 8 * 3600).
    const Wide per_million =
        wide(price.value) * 1'000'000 * 8 / (wide(model.bandwidth_gbps) * 3600);
    constexpr Wide int64_max = std::numeric_limits<std::int64_t>::max();
    const std::int64_t bytes = vram_bytes.value_or(model.memory_gb * 1'000'000'000);
    return TokenEstimate{
        .tok_s_8b = static_cast<double>(model.bandwidth_gbps) * tokens_per_gbps,
        .per_million_tokens = {static_cast<std::int64_t>(std::min(per_million, int64_max))},
        .fits_up_to_b_params = static_cast<std::int64_t>(wide(bytes) * 9 / 6'000'000'000)};
}

}  // namespace

Micro median(std::vector<Micro> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    const Wide sum = wide(std::max_element(values.begin(), middle)->value) + wide(middle->value);
    return {static_cast<std::int64_t>(sum / 2)};
}

std::optional<MarketPrice> market_price(const GpuModel& model, std::span<const Listing> listings,
                                        std::optional<std::int64_t> vram_bytes,
                                        std::span<const ReferencePrice> prices) {
    std::optional<MarketPrice> found = by_listings(model, listings);
    if (!found) found = by_reference(model, prices);
    if (!found) found = by_throughput(model, prices);
    if (found) found->estimate = estimate(model, found->median_per_gpu_hour, vram_bytes);
    return found;
}

}  // namespace berth::hardware
