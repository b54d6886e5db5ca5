// The filters of a query as an index tests them: which of them an offer misses, one bit for each.
#pragma once

#include "catalog/index.hpp"
#include "catalog/types.hpp"

namespace berth::catalog {

using Misses = std::uint32_t;
constexpr Misses miss(Filter filter) { return Misses{1} << static_cast<Misses>(filter); }
inline constexpr std::size_t filters_count = 12;
inline constexpr Misses misses_end = Misses{1} << filters_count;
inline constexpr Misses far_away = misses_end;  // with `near`: not there

// Those that an offer may miss beside what its cell misses.
inline constexpr Misses misses_of_steps = miss(Filter::max_rate_micro_per_hour) |
                                          miss(Filter::min_bandwidth_mbps) |
                                          miss(Filter::gpu_count) | miss(Filter::backend) |
                                          miss(Filter::min_vram_gib) | miss(Filter::fits_only);

// What may be asked beside what /offers knows.
struct Beyond {
    std::optional<machines::AvailabilityClass> sold_as = {};
    std::optional<std::int64_t> min_vram_gib = {};
    const offers::FitNeeds* must_fit = nullptr;
};

bool is_active(const OffersQuery& query, const Beyond& beyond, Filter filter);

class Sieve {
public:
    // The index and what must fit outlive it.
    Sieve(const Index& index, const OffersQuery& query, const Beyond& beyond);

    Misses of_cell(std::uint32_t number) const {
        const Cell& cell = index_.cells()[number];
        Misses misses = 0;
        for (const KindTest& test : kinds_)
            if ((cell.kind & test.wanted) == 0) misses |= test.miss;
        if (!models_.empty() && !models_[cell.model]) misses |= miss(Filter::model);
        return misses;
    }
    Misses of_step(const Step& step) const {
        Misses misses = (step.traits.backends & backends_) == 0 ? backend_miss_ : 0;
        for (std::size_t range = 0; range < ranges; ++range)
            if (!is_within(range, step)) misses |= ranges_[range].miss;
        if (memory_.miss != 0 && index_.key(order_of(Sort::vram_desc), step.slot) > memory_.key_max)
            misses |= memory_.miss;
        if (must_fit_ != nullptr && !offers::fit(index_.fit(step.slot), *must_fit_).fits())
            misses |= miss(Filter::fits_only);
        return misses;
    }
    Misses of(const Step& step) const { return of_cell(step.cell) | of_step(step); }

    // Whether a filter cuts this range, and whether a step lies in what it keeps.
    Misses miss_of(std::size_t range) const { return ranges_[range].miss; }
    bool is_within(std::size_t range, const Step& step) const {
        const Range& test = ranges_[range];
        const std::uint32_t part = step.traits.parts[range];
        return part < test.part_max || (part == test.part_max &&
                                        index_.key(range_orders[range], step.slot) <= test.key_max);
    }

    // The keys of an order between which all lie that miss exactly `misses`, both included.
    struct KeySpan {
        std::uint64_t from = 0;
        std::uint64_t to = unmeasured;
    };
    KeySpan key_span(std::size_t order, Misses misses) const;

private:
    struct KindTest {
        Misses miss = 0;  // none: it is not asked for
        Kind wanted = ~Kind{0};
    };
    struct Range {
        Misses miss = 0;
        std::uint64_t key_max = 0;
        std::uint32_t part_max = 256;  // above every part: nothing is cut
    };

    void cut(std::size_t range, Filter filter, std::uint64_t key_max);

    const Index& index_;
    std::array<KindTest, 6> kinds_;
    std::vector<bool> models_;  // which of them pass; empty when none is asked for
    std::array<Range, ranges> ranges_;
    Range memory_;  // asked seldom, so that steps carry no part of it
    const offers::FitNeeds* must_fit_;
    offers::BackendBits backends_ = 0;
    Misses backend_miss_ = 0;
};

}  // namespace berth::catalog
