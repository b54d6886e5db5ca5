#include "catalog/search.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/letters.hpp"

namespace berth::catalog {
namespace {

constexpr std::array<Filter, 9> filters{
    Filter::include_unverified, Filter::verification_level, Filter::min_bandwidth_mbps,
    Filter::max_rate_micro_per_hour, Filter::gpu_count, Filter::model, Filter::tier,
    Filter::backend, Filter::continent};

Bitmap on_continent(const Index& index, ContinentFilter filter) {
    switch (filter) {
        case ContinentFilter::africa:
        case ContinentFilter::AF: return index.continent(Continent::AF);
        case ContinentFilter::antarctica:
        case ContinentFilter::AN: return index.continent(Continent::AN);
        case ContinentFilter::asia:
        case ContinentFilter::AS: return index.continent(Continent::AS);
        case ContinentFilter::europe:
        case ContinentFilter::EU: return index.continent(Continent::EU);
        case ContinentFilter::oceania:
        case ContinentFilter::OC: return index.continent(Continent::OC);
        case ContinentFilter::NA: return index.continent(Continent::NA);
        case ContinentFilter::SA: return index.continent(Continent::SA);
        case ContinentFilter::americas: break;
    }
    Bitmap both = index.continent(Continent::NA);
    return both |= index.continent(Continent::SA);
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text;
}

bool is_active(const OffersQuery& query, Filter filter) {
    switch (filter) {
        case Filter::include_unverified: return !query.include_unverified.value_or(false);
        case Filter::verification_level: return query.verification_level.has_value();
        case Filter::min_bandwidth_mbps: return query.min_bandwidth_mbps.has_value();
        case Filter::max_rate_micro_per_hour: return query.max_rate_micro_per_hour.has_value();
        case Filter::gpu_count: return query.gpu_count.has_value();
        case Filter::model: return query.model.has_value();
        case Filter::tier: return query.tier.has_value();
        case Filter::backend: return query.backend.has_value();
        case Filter::continent: return query.continent.has_value();
    }
    return false;
}

// Takes from `bits` what an active filter removes.
void narrow(const Index& index, const OffersQuery& query, Filter filter, Bitmap& bits) {
    switch (filter) {
        case Filter::include_unverified: bits &= index.admitted(); return;
        case Filter::verification_level: bits &= index.level(*query.verification_level); return;
        case Filter::min_bandwidth_mbps:
            bits &= index.download_at_least(query.min_bandwidth_mbps->value);
            return;
        case Filter::max_rate_micro_per_hour:
            bits &= index.rate_at_most(query.max_rate_micro_per_hour->value);
            return;
        case Filter::gpu_count: bits &= index.gpus_at_least(query.gpu_count->value); return;
        case Filter::model: bits &= index.model_contains(lower(query.model->value)); return;
        case Filter::tier: bits &= index.tier(*query.tier); return;
        case Filter::backend: bits &= index.backend(*query.backend); return;
        case Filter::continent: bits &= on_continent(index, *query.continent); return;
    }
}

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

std::vector<Found> Search::page(const std::optional<Mark>& after, std::size_t limit) const {
    const std::optional<Place> place = after ? std::optional(after->place) : std::nullopt;
    if (is_plain()) {
        // Without filters nothing needs to be counted or copied.
        std::vector<Part> parts;
        for (const Shard& shard : snapshot_.shards)
            parts.push_back({shard.index.get(), &shard.offered, shard.offered_count});
        return first(parts, false, place, limit);
    }
    std::vector<Wanted> wanted;
    for (const Shard& shard : snapshot_.shards) wanted.push_back(matching(shard));
    if (!query_.near) return first(parts_of(wanted), false, place, limit);

    std::vector<Wanted> near = wanted;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Bitmap there = on_continent(*wanted[i].index, *query_.near);
        near[i].bits &= there;
        wanted[i].bits.without(there);
    }
    const bool near_is_over = after && after->far;
    std::vector<Found> found;
    if (!near_is_over) found = first(parts_of(near), false, place, limit);
    if (found.size() < limit) {
        const auto others = first(parts_of(wanted), true, near_is_over ? place : std::nullopt,
                                  limit - found.size());
        found.insert(found.end(), others.begin(), others.end());
    }
    return found;
}

// Nothing but the default filter, which every shard has applied.
bool Search::is_plain() const {
    return !query_.near && std::none_of(filters.begin(), filters.end(), [&](Filter filter) {
        return is_active(query_, filter) != (filter == Filter::include_unverified);
    });
}

Search::Wanted Search::matching(const Shard& shard, std::optional<Filter> but) const {
    Wanted wanted{shard.index.get(), shard.listed};
    for (const Filter filter : filters)
        if (filter != but && is_active(query_, filter))
            narrow(*shard.index, query_, filter, wanted.bits);
    return wanted;
}

std::vector<Search::Part> Search::parts_of(const std::vector<Wanted>& wanted) {
    std::vector<Part> parts;
    for (const Wanted& each : wanted) parts.push_back({each.index, &each.bits, each.bits.count()});
    return parts;
}

std::vector<Found> Search::first(const std::vector<Part>& parts, bool far,
                                 const std::optional<Place>& after, std::size_t limit) const {
    std::vector<Found> found;
    for (const Part& part : parts) {
        const Index& index = *part.index;
        const auto shown = [&](std::uint32_t slot) {
            return is_timely(index, slot, pulses_, now_);
        };
        for (const Hit& hit :
             index.first(sort_of(query_), *part.bits, part.count, after, limit, shown))
            found.push_back({&index, hit.slot, {far, {hit.key, index.id(hit.slot)}}});
    }
    std::sort(found.begin(), found.end(), comes_before);
    found.resize(std::min(found.size(), limit));
    return found;
}

Search::Reasons Search::reasons(std::size_t nearest_max) const {
    Reasons reasons;
    for (const Shard& shard : snapshot_.shards) {
        reasons.listed += shard.listed.count();
        reasons.matching += matching(shard).bits.count();
    }
    for (const Filter filter : filters) {
        if (!is_active(query_, filter)) continue;
        std::size_t removed = 0;
        std::vector<Wanted> misses;  // what passes every filter but this one
        for (const Shard& shard : snapshot_.shards) {
            Bitmap passing = shard.listed;
            narrow(*shard.index, query_, filter, passing);
            removed += shard.listed.count_without(passing);
            misses.push_back(matching(shard, filter));
            misses.back().bits.without(passing);
        }
        // The default filter is not worth a word when it does nothing.
        if (removed > 0 || filter != Filter::include_unverified || query_.include_unverified)
            reasons.removed_by.emplace_back(filter, removed);
        for (const Found& found : first(parts_of(misses), false, std::nullopt, nearest_max))
            reasons.nearest.emplace_back(filter, found);
    }
    std::sort(reasons.nearest.begin(), reasons.nearest.end(),
              [](const auto& a, const auto& b) { return comes_before(a.second, b.second); });
    reasons.nearest.resize(std::min(reasons.nearest.size(), nearest_max));
    return reasons;
}

}  // namespace berth::catalog
