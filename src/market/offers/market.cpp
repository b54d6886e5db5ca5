#include "hardware/market.hpp"

#include "db/name_list.hpp"
#include "machines/states.hpp"
#include "offers/offers.hpp"

namespace berth::offers {
namespace {

// The newest of very many are as good a sample as all.
constexpr std::int64_t listings_max = 2000;

struct ListingRow {
    Micro rate_micro_per_hour;
    std::int64_t gpu_count = 1;
};
BOOST_DESCRIBE_STRUCT(ListingRow, (), (rate_micro_per_hour, gpu_count))

// Offers on machines that were admitted: a price that nobody could have paid says nothing.
const db::Query<ListingRow> listings_sql(
    "SELECT {} FROM (SELECT v.rate_micro_per_hour, m.gpu_count FROM machines AS m "
    "JOIN offer_versions AS v ON v.offer_id = m.offer_id AND v.offer_version = m.offer_version "
    "WHERE m.gpu_model_key = $1 AND m.offer_state = 'listed' AND m.retired_at IS NULL "
    "AND m.state IN " +
    db::name_list(machines::rentable_states) +
    " AND m.gpu_count >= 1 "
    "ORDER BY m.listed_at DESC LIMIT $2) AS listings");

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
    for (const ListingRow& row : tx.fetch(listings_sql, model->key, listings_max))
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
