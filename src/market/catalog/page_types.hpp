// Request and response of GET /catalog: the filters of /offers and more, and figures of the market.
#pragma once

#include <algorithm>

#include "catalog/types.hpp"

namespace berth::catalog {

using MinVramGib = wire::Integer<0, 1'048'576>;

// The members of OffersQuery, and three of its own.
struct CatalogQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<offers::TemplateId> template_id;
    std::optional<wire::Literal<"all">> fits_for;
    std::optional<std::string> sort;
    std::optional<VerificationLevel> verification_level;
    std::optional<bool> include_unverified;
    std::optional<wire::Count> min_bandwidth_mbps;
    std::optional<Micro> max_rate_micro_per_hour;
    std::optional<wire::Count> gpu_count;
    std::optional<wire::Text<0, 200>> model;
    std::optional<Tier> tier;
    std::optional<offers::Backend> backend;
    std::optional<ContinentFilter> continent;
    std::optional<ContinentFilter> near;
    std::optional<machines::AvailabilityClass> class_;
    std::optional<MinVramGib> min_vram_gib;
    std::optional<bool> fits_only;
};
BOOST_DESCRIBE_STRUCT(CatalogQuery, (),
                      (cursor, limit, template_id, fits_for, sort, verification_level,
                       include_unverified, min_bandwidth_mbps, max_rate_micro_per_hour, gpu_count,
                       model, tier, backend, continent, near, class_, min_vram_gib, fits_only))
constexpr auto wire_docs(const CatalogQuery*) {
    constexpr auto shared = wire_docs(static_cast<const OffersQuery*>(nullptr));
    constexpr auto own = std::to_array<wire::Doc>({
        {"class", "Exactly this availability class.", "dedicated"},
        {"min_vram_gib",
         "One GPU has at least this much measured memory, rounded up to whole GiB: a card that is "
         "sold with 24 measures a little less. Machines that never measured are left out.",
         "24"},
        {"fits_only", "Only offers that can run the template of template_id, which it needs.",
         "false", "false"},
    });
    std::array<wire::Doc, shared.size() + own.size()> all{};
    std::copy(own.begin(), own.end(), std::copy(shared.begin(), shared.end(), all.begin()));
    return all;
}

struct ModelOnSale {
    std::string model;
    wire::Nullable<std::string> gpu_model_key;
    wire::Count count;
    Micro lowest_rate_micro_per_gpu_hour;
    wire::Nullable<Micro> market_price_micro_per_gpu_hour;
};
BOOST_DESCRIBE_STRUCT(ModelOnSale, (),
                      (model, gpu_model_key, count, lowest_rate_micro_per_gpu_hour,
                       market_price_micro_per_gpu_hour))
constexpr auto wire_docs(const ModelOnSale*) {
    return std::to_array<wire::Doc>({
        {"model", "As a driver names it.", "NVIDIA GeForce RTX 4090"},
        {"gpu_model_key", "The same for every spelling of a known model; null for others.",
         "rtx-4090"},
        {"count", "Offers of it that pass every filter but `model`.", "12"},
        {"lowest_rate_micro_per_gpu_hour", "Of these.", "310000"},
        {"market_price_micro_per_gpu_hour",
         "The median of all listed offers of it; null where there are fewer than three.", "390000"},
    });
}

struct CatalogPage {
    std::vector<wire::Rendered<OfferSummary>> items;
    wire::Nullable<std::string> next_cursor;
    wire::Count total;
    wire::Count total_listed;
    wire::Nullable<Micro> lowest_rate_micro_per_gpu_hour;
    std::vector<ModelOnSale> gpu_models;
    Time changed_at;
};
BOOST_DESCRIBE_STRUCT(CatalogPage, (),
                      (items, next_cursor, total, total_listed, lowest_rate_micro_per_gpu_hour,
                       gpu_models, changed_at))
constexpr auto wire_docs(const CatalogPage*) {
    return std::to_array<wire::Doc>({
        {"items", "As /offers shows them, each with its market price."},
        {"next_cursor", "Where the next page begins; null on the last one.", "null"},
        {"total", "Offers that pass every filter, on all pages.", "12"},
        {"total_listed", "Offers that are listed now, before any filter.", "40"},
        {"lowest_rate_micro_per_gpu_hour", "Of those that pass; null when none does.", "310000"},
        {"gpu_models",
         "What `model` could be with the same other filters: the models with most offers first, a "
         "hundred at most."},
        {"changed_at", "When an offer last came, went or changed."},
    });
}

}  // namespace berth::catalog
