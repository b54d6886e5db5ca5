#include "hardware/market.hpp"

#include "offers/store.hpp"

namespace berth::offers {
namespace {

// The newest of very many are as good a sample as all.
constexpr std::int64_t listings_max = 2000;

PriceBasis shown(hardware::PriceBasis basis) {
    switch (basis) {
        case hardware::PriceBasis::listings: return PriceBasis::amplerun;
        case hardware::PriceBasis::reference: return PriceBasis::reference;
        case hardware::PriceBasis::throughput: return PriceBasis::throughput;
    }
    return PriceBasis::reference;
}

}  // namespace

std::optional<MarketPrice> market_price(db::Transaction& tx, const machines::Machine& machine) {
    const hardware::GpuModel* model =
        machine.gpu_model_key ? hardware::find_gpu(*machine.gpu_model_key) : nullptr;
    if (model == nullptr) return std::nullopt;
    std::vector<hardware::Listing> listings;
    for (const ListingRow& row : find_listings(tx, model->key, listings_max))
        listings.push_back({row.rate_micro_per_hour, row.gpu_count});
    const auto measured = machines::find_measured(tx, machine.machine_id);
    const auto price =
        hardware::market_price(*model, listings, measured ? measured->vram_bytes : std::nullopt,
                               hardware::reference_prices());
    if (!price) return std::nullopt;

    MarketPrice out{.gpu_model = std::string(price->gpu_model),
                    .basis = shown(price->basis),
                    .median_micro_per_gpu_hour = price->median_per_gpu_hour,
                    .sample_size = {price->sample_size},
                    .sources = {},
                    .estimate = {}};
    for (const hardware::PriceSource& source : price->sources)
        out.sources.push_back(
            {std::string(source.label), std::string(source.url), std::string(source.accessed)});
    if (price->estimate)
        out.estimate = PriceEstimate{price->estimate->tok_s_8b,
                                     price->estimate->per_million_tokens,
                                     {price->estimate->fits_up_to_b_params}};
    return out;
}

}  // namespace berth::offers
