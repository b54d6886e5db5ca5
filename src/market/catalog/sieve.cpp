#include "catalog/sieve.hpp"

#include <algorithm>
#include <limits>

#include "base/letters.hpp"

namespace berth::catalog {
namespace {

Kind kind_of(ContinentFilter filter) {
    using catalog::kind_of;
    switch (filter) {
        case ContinentFilter::africa:
        case ContinentFilter::AF: return kind_of(Continent::AF);
        case ContinentFilter::antarctica:
        case ContinentFilter::AN: return kind_of(Continent::AN);
        case ContinentFilter::asia:
        case ContinentFilter::AS: return kind_of(Continent::AS);
        case ContinentFilter::europe:
        case ContinentFilter::EU: return kind_of(Continent::EU);
        case ContinentFilter::oceania:
        case ContinentFilter::OC: return kind_of(Continent::OC);
        case ContinentFilter::NA: return kind_of(Continent::NA);
        case ContinentFilter::SA: return kind_of(Continent::SA);
        case ContinentFilter::americas: break;
    }
    return kind_of(Continent::NA) | kind_of(Continent::SA);
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text;
}

// The key of a download rate, which is kept in thousandths; more than fits was never measured.
std::uint64_t least_download(std::int64_t mbps) {
    constexpr std::int64_t scale = 1000;
    return descending(std::min(mbps, std::numeric_limits<std::int64_t>::max() / scale) * scale);
}

// The key of the least memory that rounds up to so many GiB.
std::uint64_t least_memory(std::int64_t gib) {
    constexpr std::int64_t bytes_per_gib = 1 << 30;
    return descending(gib == 0 ? 0 : (gib - 1) * bytes_per_gib + 1);
}

}  // namespace

bool is_active(const OffersQuery& query, const Beyond& beyond, Filter filter) {
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
        case Filter::class_: return beyond.sold_as.has_value();
        case Filter::min_vram_gib: return beyond.min_vram_gib.has_value();
        case Filter::fits_only: return beyond.must_fit != nullptr;
    }
    return false;
}

Sieve::Sieve(const Index& index, const OffersQuery& query, const Beyond& beyond)
    : index_(index), must_fit_(beyond.must_fit) {
    if (is_active(query, beyond, Filter::include_unverified))
        kinds_[0] = {miss(Filter::include_unverified), kind_admitted};
    if (query.verification_level)
        kinds_[1] = {miss(Filter::verification_level), catalog::kind_of(*query.verification_level)};
    if (query.tier) kinds_[2] = {miss(Filter::tier), catalog::kind_of(*query.tier)};
    if (query.continent) kinds_[3] = {miss(Filter::continent), kind_of(*query.continent)};
    if (query.near) kinds_[4] = {far_away, kind_of(*query.near)};
    if (beyond.sold_as) kinds_[5] = {miss(Filter::class_), catalog::kind_of(*beyond.sold_as)};
    if (beyond.min_vram_gib)
        memory_ = {miss(Filter::min_vram_gib), least_memory(*beyond.min_vram_gib)};
    if (query.max_rate_micro_per_hour)
        cut(rates, Filter::max_rate_micro_per_hour,
            static_cast<std::uint64_t>(query.max_rate_micro_per_hour->value));
    if (query.min_bandwidth_mbps)
        cut(downloads, Filter::min_bandwidth_mbps, least_download(query.min_bandwidth_mbps->value));
    if (query.gpu_count) cut(gpus, Filter::gpu_count, descending(query.gpu_count->value));
    if (query.backend) {
        backends_ = offers::bit_of(*query.backend);
        backend_miss_ = miss(Filter::backend);
    }
    if (query.model) {
        const std::string wanted = lower(query.model->value);
        for (const std::string& model : index.models())
            models_.push_back(model.find(wanted) != model.npos);
    }
}

void Sieve::cut(std::size_t range, Filter filter, std::uint64_t key_max) {
    ranges_[range] = {miss(filter), key_max, index_.part(range, key_max)};
}

// A filter and a sort by the same quantity: the page begins or ends where the filter cuts.
Sieve::KeySpan Sieve::key_span(std::size_t order, Misses misses) const {
    KeySpan span;
    const auto keep = [&](const Range& range, std::size_t range_order) {
        if (range.miss == 0 || order != range_order) return;
        if ((misses & range.miss) == 0)
            span.to = range.key_max;
        else
            span.from = range.key_max + 1;
    };
    keep(ranges_[rates], order_of(Sort::price_asc));
    keep(ranges_[downloads], order_of(Sort::net_desc));
    keep(memory_, order_of(Sort::vram_desc));
    const Range& rate = ranges_[rates];
    if (rate.miss != 0 && order == order_of(Sort::price_desc)) {
        const std::uint64_t dearest = descending(static_cast<std::int64_t>(rate.key_max));
        if ((misses & rate.miss) == 0)
            span.from = dearest;
        else if (dearest > 0)
            span.to = dearest - 1;
    }
    return span;
}

}  // namespace berth::catalog
