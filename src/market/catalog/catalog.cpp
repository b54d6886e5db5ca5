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
        .templates = query.fits_for ? &snapshot.measures : nullptr};
}

// A cursor belongs to the sort and to everything else that was asked.
api::Cursors::Scope scope_of(const OffersQuery& query) {
    OffersQuery asked = query;
    asked.cursor.reset();
    asked.limit.reset();
    asked.sort = enum_name(sort_of(query));
    return {"offers", wire::encode(asked)};
}

}  // namespace

wire::Rendered<api::Page<OfferSummary>> Catalog::list(const api::Call& call,
                                                      const OffersQuery& query) const {
    const auto snapshot = published_.read();
    require_loaded(*snapshot);
    const api::Pager pager(call.cursors, scope_of(query), query);
    const Ending ending = ending_of(call, *snapshot, query);
    const std::optional<Mark> after =
        pager.after() ? std::optional(mark_from_key(*pager.after())) : std::nullopt;
    const Search search(*snapshot, pulses_, query, call.now);
    const auto page = pager.page(
        search.page(after, static_cast<std::size_t>(pager.rows_wanted())),
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

Explanation Catalog::explain(const api::Call& call, const OffersQuery& query) const {
    const auto snapshot = published_.read();
    require_loaded(*snapshot);
    const Ending ending = ending_of(call, *snapshot, query);
    const auto reasons = Search(*snapshot, pulses_, query, call.now).reasons(nearest_max);
    const auto count = [](std::size_t number) {
        return wire::Count{static_cast<std::int64_t>(number)};
    };
    Explanation out{count(reasons.listed), count(reasons.matching), {}, {}};
    for (const auto& [filter, removed] : reasons.removed_by)
        out.removed_by.push_back({filter, count(removed)});
    for (const auto& [filter, found] : reasons.nearest) {
        std::string text;
        append_item(text, found, pulses_, ending);
        out.nearest.push_back({filter, {{std::make_shared<const std::string>(std::move(text))}}});
    }
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
        std::string text;
        append_item(text, {.index = shard.index.get(), .slot = *slot, .mark = {}}, pulses_, ending);
        return {{std::make_shared<const std::string>(std::move(text))}};
    }
    throw Problem(Code::not_found, "there is no such offer on the market");
}

}  // namespace berth::catalog
