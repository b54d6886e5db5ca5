// What a GPU-hour costs elsewhere and here: public list prices as data, and the suggestion that a
// host is shown. Pure: the caller brings the service's own listings.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/money.hpp"
#include "hardware/gpus.hpp"

namespace berth::hardware {

struct PriceSource {
    std::string_view label;
    std::string_view url;
    std::string_view accessed;  // YYYY-MM-DD: the day somebody read the price there
    friend bool operator==(const PriceSource&, const PriceSource&) = default;
};

struct ReferencePrice {
    std::string_view gpu;  // a key of gpu_models()
    Micro per_gpu_hour;    // USD, as listed
    PriceSource source;
};
std::span<const ReferencePrice> reference_prices();

// A listed offer of a model: the price of the whole machine.
struct Listing {
    Micro rate_per_hour;
    std::int64_t gpu_count = 1;
};

enum class PriceBasis {
    listings,    // offers of this service, at least listings_min of them
    reference,   // public list prices of the model
    throughput,  // public list prices of other models, by memory bandwidth
};
inline constexpr std::size_t listings_min = 3;

// Of at least one value; between the two in the middle where their number is even.
Micro median(std::vector<Micro> values);

// From memory bandwidth alone, for a model of eight billion parameters in 4.8 GB.
struct TokenEstimate {
    double tok_s_8b = 0;
    Micro per_million_tokens;
    std::int64_t fits_up_to_b_params = 0;
};

struct MarketPrice {
    std::string_view gpu_model;
    PriceBasis basis = PriceBasis::listings;
    Micro median_per_gpu_hour;
    std::int64_t sample_size = 0;
    std::vector<PriceSource> sources;  // none for listings
    std::optional<TokenEstimate> estimate;
};

// `vram_bytes` is what was measured; without it the model's nominal memory counts. Empty when no
// basis exists.
std::optional<MarketPrice> market_price(const GpuModel& model, std::span<const Listing> listings,
                                        std::optional<std::int64_t> vram_bytes,
                                        std::span<const ReferencePrice> prices);

}  // namespace berth::hardware
