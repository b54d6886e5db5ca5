// Requests and responses of offers: what a host sells, and whether it is on sale.
#pragma once

#include <boost/describe.hpp>

#include "api/sibling.hpp"
#include "machines/types.hpp"
#include "offers/fit.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::offers {

using machines::AvailabilityClass;
using machines::OfferId;
using machines::OfferState;

// Market price

enum class PriceBasis { amplerun, reference, throughput };
BOOST_DESCRIBE_ENUM(PriceBasis, amplerun, reference, throughput)

struct PriceSource {
    std::string label;
    std::string url;
    std::string accessed;
};
BOOST_DESCRIBE_STRUCT(PriceSource, (), (label, url, accessed))
constexpr auto wire_docs(const PriceSource*) {
    return std::to_array<wire::Doc>({
        {"label", "Who asks the price.", "RunPod Community Cloud"},
        {"url", "Where it was read.", "https://www.runpod.io/pricing"},
        {"accessed", "The day it was read.", "2026-09-25"},
    });
}

struct PriceEstimate {
    double tok_s_8b = 0;
    Micro micro_per_million_tokens;
    wire::Count fits_up_to_b_params;
};
BOOST_DESCRIBE_STRUCT(PriceEstimate, (), (tok_s_8b, micro_per_million_tokens, fits_up_to_b_params))
constexpr auto wire_docs(const PriceEstimate*) {
    return std::to_array<wire::Doc>({
        {"tok_s_8b", "Tokens a second of a model with eight billion parameters.", "126"},
        {"micro_per_million_tokens", "At the suggested price.", "881834"},
        {"fits_up_to_b_params", "Billions of parameters whose weights fit.", "38"},
    });
}

struct MarketPrice {
    std::string gpu_model;
    PriceBasis basis = PriceBasis::reference;
    Micro median_micro_per_gpu_hour;
    wire::Count sample_size;
    std::vector<PriceSource> sources;
    wire::Nullable<PriceEstimate> estimate;
};
BOOST_DESCRIBE_STRUCT(MarketPrice, (), (gpu_model, basis, median_micro_per_gpu_hour, sample_size,
                                        sources, estimate))
constexpr auto wire_docs(const MarketPrice*) {
    return std::to_array<wire::Doc>({
        {"gpu_model", "The canonical name that was matched.", "RTX 4090"},
        {"basis",
         "amplerun: listed offers of this service, three at least; reference: public list prices "
         "of the model; throughput: public list prices by memory bandwidth.", "reference"},
        {"median_micro_per_gpu_hour", "What is suggested for one GPU and one hour.", "390000"},
        {"sample_size", "How many listings or list prices stand behind it.", "4"},
        {"sources", "Of list prices; none for listings of this service."},
        {"estimate", "From memory bandwidth, not measured; null when that is unknown."},
    });
}

// What a renter is told of a template and a machine.
struct TemplateFit {
    bool fits = false;
    wire::Nullable<FitReason> reason;
    wire::Decimal headroom_bytes;
};
BOOST_DESCRIBE_STRUCT(TemplateFit, (), (fits, reason, headroom_bytes))
constexpr auto wire_docs(const TemplateFit*) {
    return std::to_array<wire::Doc>({
        {"fits", "Whether the machine can run the template."},
        {"reason", "The first check that fails; null when it fits.", "null"},
        {"headroom_bytes", "GPU memory that would stay free; 0 where it does not fit.",
         "5618987820"},
    });
}
inline TemplateFit shown(const Fit& fit) { return {fit.fits(), fit.reason, {fit.headroom_bytes}}; }

}  // namespace berth::offers
