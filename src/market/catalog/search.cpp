#include "catalog/search.hpp"

#include <algorithm>
#include <numeric>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "catalog/pick.hpp"

namespace berth::catalog {
namespace {

constexpr std::array<Filter, filters_count> filters{Filter::include_unverified,
                                                    Filter::verification_level,
                                                    Filter::min_bandwidth_mbps,
                                                    Filter::max_rate_micro_per_hour,
                                                    Filter::gpu_count,
                                                    Filter::model,
                                                    Filter::tier,
                                                    Filter::backend,
                                                    Filter::continent,
                                                    Filter::class_,
                                                    Filter::min_vram_gib,
                                                    Filter::fits_only};

bool comes_before(const Found& a, const Found& b) {
    const auto rank = [](const Found& found) {
        return std::tie(found.mark.far, found.mark.place.key, found.mark.place.offer_id);
    };
    return rank(a) < rank(b);
}

}  // namespace

Sort sort_of(const OffersQuery& query) {
    return query.sort ? parse_enum<Sort>(*query.sort).value_or(Sort::price_asc) : Sort::price_asc;
}

std::string to_key(const Mark& mark) {
    std::string key(1, mark.far ? '\1' : '\0');
    append_big_endian(key, mark.place.key);
    key += mark.place.offer_id.uuid.view();
    return key;
}

// Only we write keys: a cursor that was changed does not open.
Mark mark_from_key(std::string_view key) {
    constexpr std::size_t number_bytes = 8;
    const auto id = uuid_from_bytes(key.substr(std::min(key.size(), 1 + number_bytes)));
    require(id.has_value(), "the key of a cursor is one that the catalog wrote");
    return {key.front() != '\0', {load_big_endian(key.data() + 1), {*id}}};
}

Search::Search(const Snapshot& snapshot, const Pulses& pulses, const OffersQuery& query, Time now,
               const Beyond& beyond)
    : snapshot_(snapshot), pulses_(pulses), query_(query), beyond_(beyond), now_(now) {
    for (const Shard& shard : snapshot_.shards) sieves_.emplace_back(*shard.index, query_, beyond_);
}

std::vector<Found> Search::page(const std::optional<Mark>& after, std::size_t limit) const {
    const std::optional<Place> place = after ? std::optional(after->place) : std::nullopt;
    const bool near_is_over = after && after->far;
    std::vector<Found> found;
    if (!near_is_over) found = first(0, place, limit);
    if (query_.near && found.size() < limit) {
        const auto others =
            first(far_away, near_is_over ? place : std::nullopt, limit - found.size());
        found.insert(found.end(), others.begin(), others.end());
    }
    return found;
}

std::vector<Found> Search::first(Misses misses, const std::optional<Place>& after,
                                 std::size_t limit) const {
    const Ask ask{order_of(sort_of(query_)), misses, after, limit};
    std::vector<Found> found;
    for (std::size_t i = 0; i < sieves_.size(); ++i) {
        const Shard& shard = snapshot_.shards[i];
        for (const Hit& hit : Pick(shard, sieves_[i], ask, pulses_, now_).hits())
            found.push_back({shard.index.get(), hit.slot, {misses == far_away, hit.place}});
    }
    std::sort(found.begin(), found.end(), comes_before);
    found.resize(std::min(found.size(), limit));
    return found;
}

// One look at every listed offer counts how many miss which filters.
Search::Reasons Search::reasons(std::size_t nearest_max) const {
    std::array<std::size_t, misses_end> counts{};
    for (std::size_t i = 0; i < sieves_.size(); ++i) {
        const Shard& shard = snapshot_.shards[i];
        for (std::uint32_t cell = 0; cell < shard.index->cells().size(); ++cell) {
            const Misses misses = sieves_[i].of_cell(cell) & ~far_away;
            for (const Step& step : shard.index->within(shard.index->cells()[cell], gpus_desc))
                if (shard.listed.test(step.slot)) ++counts[misses | sieves_[i].of_step(step)];
        }
    }
    Reasons reasons;
    reasons.listed = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    reasons.matching = counts[0];
    for (const Filter filter : filters) {
        if (!is_active(query_, beyond_, filter)) continue;
        std::size_t removed = 0;
        for (Misses misses = 0; misses < misses_end; ++misses)
            if ((misses & miss(filter)) != 0) removed += counts[misses];
        // The default filter is not worth a word when it does nothing.
        if (removed > 0 || filter != Filter::include_unverified || query_.include_unverified)
            reasons.removed_by.emplace_back(filter, removed);
        if (counts[miss(filter)] == 0) continue;
        for (const Misses far : {Misses{0}, far_away})
            if (far == 0 || query_.near)
                for (Found& found : first(miss(filter) | far, std::nullopt, nearest_max))
                    reasons.nearest.emplace_back(filter, found);
    }
    std::sort(reasons.nearest.begin(), reasons.nearest.end(),
              [](const auto& a, const auto& b) { return comes_before(a.second, b.second); });
    reasons.nearest.resize(std::min(reasons.nearest.size(), nearest_max));
    return reasons;
}

// Every listed offer is counted; the clock is asked about those alone that pass.
Search::Overview Search::overview() const {
    const Prices& prices = snapshot_.prices();
    Overview overview;
    overview.models.resize(prices.models().size());
    const auto count = [](Overview::Model& model, std::int64_t rate) {
        ++model.count;
        model.lowest_micro_per_gpu_hour = std::min(model.lowest_micro_per_gpu_hour, rate);
    };
    for (std::size_t i = 0; i < sieves_.size(); ++i) {
        const Shard& shard = snapshot_.shards[i];
        const Index& index = *shard.index;
        for (std::uint32_t number = 0; number < index.cells().size(); ++number) {
            const Cell& cell = index.cells()[number];
            const Misses of_cell = sieves_[i].of_cell(number) & ~far_away;
            const bool is_counted = (of_cell & ~miss(Filter::model)) == 0;
            const auto model = prices.number(i, cell.model);
            for (const Step& step : index.within(cell, gpus_desc)) {
                if (!shard.listed.test(step.slot)) continue;
                ++overview.listed;
                if (!is_counted || sieves_[i].of_step(step) != 0 ||
                    !is_timely(index, step.slot, pulses_, now_))
                    continue;
                const std::int64_t rate = index.rate_micro_per_gpu_hour(step.slot);
                if (of_cell == 0) count(overview.all, rate);
                if (model) count(overview.models[*model], rate);
            }
        }
    }
    return overview;
}

}  // namespace berth::catalog
