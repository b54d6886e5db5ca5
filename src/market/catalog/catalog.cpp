#include "catalog/catalog.hpp"

#include <algorithm>

#include "catalog/render.hpp"
#include "ledger/settings.hpp"

namespace berth::catalog {
namespace {

constexpr std::size_t item_bytes_usual = 1200;

void require_loaded(const Snapshot& snapshot) {
    if (!snapshot.loaded)
        throw Problem(Code::unavailable, "the catalog is being read; try again in a moment");
}

const Measure& find_measure(const Snapshot& snapshot, offers::TemplateId id) {
    const auto found = std::lower_bound(
        snapshot.measures.begin(), snapshot.measures.end(), id,
        [](const Measure& measure, offers::TemplateId than) { return measure.template_id < than; });
    if (found == snapshot.measures.end() || found->template_id != id)
        throw Problem(Code::not_found, "no published template has this id");
    return *found;
}

Ending ending_of(const api::Call& call, const Snapshot& snapshot, const OffersQuery& query) {
    return {
        .now = call.now,
        .platform_fee_bps = *call.settings<ledger::Settings>().platform_fee_bps,
        .template_asked = query.template_id ? &find_measure(snapshot, *query.template_id) : nullptr,
        .templates = query.fits_for ? &snapshot.measures : nullptr,
        .market = nullptr};
}

// A cursor belongs to the sort and to everything else that was asked.
template <class AnyQuery>
api::Cursors::Scope scope_of(std::string list, const AnyQuery& query, Sort sort) {
    AnyQuery asked = query;
    asked.cursor.reset();
    asked.limit.reset();
    asked.sort = enum_name(sort);
    return {std::move(list), wire::encode(asked)};
}

std::optional<Mark> mark_after(const api::Pager& pager) {
    return pager.after() ? std::optional(mark_from_key(*pager.after())) : std::nullopt;
}

OffersQuery offers_query(const CatalogQuery& query) {
    return {.cursor = query.cursor,
            .limit = query.limit,
            .template_id = query.template_id,
            .fits_for = query.fits_for,
            .sort = query.sort,
            .verification_level = query.verification_level,
            .include_unverified = query.include_unverified,
            .min_bandwidth_mbps = query.min_bandwidth_mbps,
            .max_rate_micro_per_hour = query.max_rate_micro_per_hour,
            .gpu_count = query.gpu_count,
            .model = query.model,
            .tier = query.tier,
            .backend = query.backend,
            .continent = query.continent,
            .near = query.near};
}

Beyond beyond_of(const CatalogQuery& query, const Ending& ending) {
    Beyond beyond{.sold_as = query.class_};
    if (query.min_vram_gib) beyond.min_vram_gib = query.min_vram_gib->value;
    if (!query.fits_only.value_or(false)) return beyond;
    if (ending.template_asked == nullptr)
        throw Problem(Code::invalid_input, "query.fits_only: needs template_id");
    beyond.must_fit = &ending.template_asked->needs;
    return beyond;
}

wire::Count counted(std::size_t number) { return {static_cast<std::int64_t>(number)}; }

wire::Rendered<OfferSummary> rendered(const Found& found, const Pulses& pulses,
                                      const Ending& ending) {
    std::string text;
    append_item(text, found, pulses, ending);
    return {{std::make_shared<const std::string>(std::move(text))}};
}

std::vector<ModelOnSale> models_on_sale(const Search::Overview& overview, const Prices& prices) {
    constexpr std::size_t models_max = 100;
    std::vector<ModelOnSale> models;
    for (std::size_t i = 0; i < overview.models.size(); ++i) {
        const Search::Overview::Model& model = overview.models[i];
        if (model.count == 0) continue;
        const ModelPrice& price = prices.models()[i];
        ModelOnSale on_sale{.model = price.model.name,
                            .gpu_model_key = {},
                            .count = counted(model.count),
                            .lowest_rate_micro_per_gpu_hour = {model.lowest_micro_per_gpu_hour},
                            .market_price_micro_per_gpu_hour = price.median};
        if (!price.model.key.empty()) on_sale.gpu_model_key = price.model.key;
        models.push_back(std::move(on_sale));
    }
    std::sort(models.begin(), models.end(), [](const ModelOnSale& a, const ModelOnSale& b) {
        return a.count.value != b.count.value ? a.count.value > b.count.value : a.model < b.model;
    });
    if (models.size() > models_max) models.resize(models_max);
    return models;
}

}  // namespace

wire::Rendered<api::Page<OfferSummary>> Catalog::list(const api::Call& call,
                                                      const OffersQuery& query) const {
    const auto snapshot = published_.read();
    require_loaded(*snapshot);
    const api::Pager pager(call.cursors, scope_of("offers", query, sort_of(query)), query);
    const Ending ending = ending_of(call, *snapshot, query);
    const Search search(*snapshot, pulses_, query, call.now);
    const auto page = pager.page(
        search.page(mark_after(pager), static_cast<std::size_t>(pager.rows_wanted())),
        [](const Found& found) { return to_key(found.mark); },
        [](const Found& found) { return found; });
    std::string text;
    text.reserve((page.items.size() + 1) * item_bytes_usual);
    text += R"({"items":[)";
    for (const Found& found : page.items) {
        if (&found != &page.items.front()) text += ',';
        append_item(text, found, pulses_, ending);
    }
    text += R"(],"next_cursor":)";
    text += wire::encode(page.next_cursor);
    text += '}';
    return {{std::make_shared<const std::string>(std::move(text))}};
}

CatalogPage Catalog::browse(const api::Call& call, const CatalogQuery& query) const {
    const auto snapshot = published_.read();
    require_loaded(*snapshot);
    const OffersQuery asked = offers_query(query);
    const api::Pager pager(call.cursors, scope_of("catalog", query, sort_of(asked)), query);
    Ending ending = ending_of(call, *snapshot, asked);
    ending.market = &*snapshot;
    const Search search(*snapshot, pulses_, asked, call.now, beyond_of(query, ending));
    auto page = pager.page(
        search.page(mark_after(pager), static_cast<std::size_t>(pager.rows_wanted())),
        [](const Found& found) { return to_key(found.mark); },
        [&](const Found& found) { return rendered(found, pulses_, ending); });
    const Search::Overview overview = search.overview();
    CatalogPage out;
    out.items = std::move(page.items);
    out.next_cursor = std::move(page.next_cursor);
    out.total = counted(overview.all.count);
    out.total_listed = counted(overview.listed);
    if (overview.all.count > 0)
        out.lowest_rate_micro_per_gpu_hour = Micro{overview.all.lowest_micro_per_gpu_hour};
    out.gpu_models = models_on_sale(overview, snapshot->prices());
    out.changed_at = snapshot->changed_at;
    return out;
}

Explanation Catalog::explain(const api::Call& call, const CatalogQuery& query) const {
    const auto snapshot = published_.read();
    require_loaded(*snapshot);
    const OffersQuery asked = offers_query(query);
    const Ending ending = ending_of(call, *snapshot, asked);
    const Search search(*snapshot, pulses_, asked, call.now, beyond_of(query, ending));
    const auto reasons = search.reasons(nearest_max);
    Explanation out{counted(reasons.listed), counted(reasons.matching), {}, {}};
    for (const auto& [filter, removed] : reasons.removed_by)
        out.removed_by.push_back({filter, counted(removed)});
    for (const auto& [filter, found] : reasons.nearest)
        out.nearest.push_back({filter, rendered(found, pulses_, ending)});
    return out;
}

wire::Rendered<OfferSummary> Catalog::show(const api::Call& call, OfferId id,
                                           const OneOfferQuery& query) const {
    const auto snapshot = published_.read();
    require_loaded(*snapshot);
    OffersQuery asked;
    asked.template_id = query.template_id;
    asked.fits_for = query.fits_for;
    const Ending ending = ending_of(call, *snapshot, asked);
    for (const Shard& shard : snapshot->shards) {
        const auto slot = shard.index->find(id);
        if (!slot || !shard.listed.test(*slot) ||
            !is_timely(*shard.index, *slot, pulses_, call.now))
            continue;
        return rendered({.index = shard.index.get(), .slot = *slot, .mark = {}}, pulses_, ending);
    }
    throw Problem(Code::not_found, "there is no such offer on the market");
}

}  // namespace berth::catalog
