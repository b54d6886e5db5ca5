// An immutable index over offers. Offers have slots in the order of their ids; every order of the
// catalog is a permutation of slots, every filter a bitmap over them, and the texts that are sent
// lie in one block. Nothing here knows time, heartbeats or requests.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "catalog/bitmap.hpp"
#include "catalog/listing.hpp"

namespace berth::catalog {

// A place in an order: the page goes on after it.
struct Place {
    std::uint64_t key = 0;
    OfferId offer_id;
};

struct Hit {
    std::uint64_t key = 0;
    std::uint32_t slot = 0;

    friend auto operator<=>(const Hit&, const Hit&) = default;
};

class Index {
public:
    Index() = default;
    // No two listings are of one offer.
    explicit Index(std::vector<Listing> listings);

    std::size_t size() const { return ids_.size(); }
    std::optional<std::uint32_t> find(OfferId id) const;

    OfferId id(std::uint32_t slot) const { return ids_[slot]; }
    std::int64_t version(std::uint32_t slot) const { return versions_[slot]; }
    std::uint32_t pulse(std::uint32_t slot) const { return times_[slot].pulse; }
    Time available_from(std::uint32_t slot) const { return times_[slot].from; }
    Time available_until(std::uint32_t slot) const { return times_[slot].until; }
    const offers::FitMachine& fit(std::uint32_t slot) const { return fits_[slot]; }
    std::string_view text(std::uint32_t slot) const {
        return std::string_view(texts_).substr(text_ends_[slot],
                                               text_ends_[slot + 1] - text_ends_[slot]);
    }

    // Filters.
    const Bitmap& admitted() const { return admitted_; }
    const Bitmap& tier(Tier tier) const { return tiers_[static_cast<std::size_t>(tier)]; }
    const Bitmap& backend(offers::Backend backend) const {
        return backends_[static_cast<std::size_t>(backend)];
    }
    const Bitmap& level(VerificationLevel level) const {
        return levels_[static_cast<std::size_t>(level)];
    }
    const Bitmap& continent(Continent continent) const {
        return continents_[static_cast<std::size_t>(continent)];
    }
    Bitmap model_contains(std::string_view lower_case) const;
    Bitmap rate_at_most(std::int64_t micro_per_hour) const;
    Bitmap download_at_least(std::int64_t mbps) const;
    Bitmap gpus_at_least(std::int64_t count) const;

    // The first `limit` of `wanted` in an order, after a place if one is given, for which `shown`
    // says yes. `wanted_count` is how many bits it has, at least about.
    template <class Shown>
    std::vector<Hit> first(Sort sort, const Bitmap& wanted, std::size_t wanted_count,
                           const std::optional<Place>& after, std::size_t limit,
                           const Shown& shown) const;

    std::size_t bytes() const;  // of memory

private:
    struct Times {
        Time from;
        Time until;
        std::uint32_t pulse = 0;
    };
    struct Model {
        std::string name;  // lower case
        std::vector<std::uint32_t> slots;
        Bitmap bits;  // the same, of a model that has many
    };
    // For filters that are a beginning of an order: what its first n/marks, 2n/marks, … are.
    struct Marked {
        std::size_t order = 0;
        std::vector<Bitmap> beginnings;
    };
    static constexpr std::size_t marks = 64;
    static constexpr std::size_t marked_rates = 0;
    static constexpr std::size_t marked_downloads = 1;
    static constexpr std::size_t marked_gpus = 2;

    void add_columns(const Listing& listing, std::uint32_t slot);
    void add_models(const std::vector<Listing>& listings);
    void sort_orders();
    void mark_orders();
    Bitmap beginning(const Marked& marked, std::uint64_t key_max) const;
    std::size_t position_after(std::size_t order, const Hit& hit) const;
    Hit hit_after(const Place& place) const;
    static constexpr bool is_sparse(std::size_t wanted, std::size_t limit, std::size_t size) {
        return wanted * wanted < (limit + 1) * size;
    }

    std::vector<OfferId> ids_;
    std::vector<std::int64_t> versions_;
    std::vector<Times> times_;
    std::vector<offers::FitMachine> fits_;
    std::array<std::vector<std::uint64_t>, orders> keys_;
    std::array<std::vector<std::uint32_t>, orders> orders_;
    std::array<Marked, 3> marked_;
    Bitmap admitted_;
    std::array<Bitmap, 2> tiers_;
    std::array<Bitmap, 5> backends_;
    std::array<Bitmap, 3> levels_;
    std::array<Bitmap, 7> continents_;
    std::vector<Model> models_;
    std::string texts_;
    std::vector<std::uint64_t> text_ends_{0};
};

// Few wanted offers are collected and sorted; many are met soon on a walk along the order. Both
// cost about the same at the border, which is the square root of limit times size.
template <class Shown>
std::vector<Hit> Index::first(Sort sort, const Bitmap& wanted, std::size_t wanted_count,
                              const std::optional<Place>& after, std::size_t limit,
                              const Shown& shown) const {
    const std::size_t order = order_of(sort);
    const std::vector<std::uint64_t>& keys = keys_[order];
    const Hit start = after ? hit_after(*after) : Hit{};
    std::vector<Hit> hits;
    if (is_sparse(wanted_count, limit, size())) {
        wanted.each([&](std::uint32_t slot) {
            const Hit hit{keys[slot], slot};
            if (start <= hit && shown(slot)) hits.push_back(hit);
        });
        const auto middle =
            hits.begin() + static_cast<std::ptrdiff_t>(std::min(limit, hits.size()));
        std::partial_sort(hits.begin(), middle, hits.end());
        hits.erase(middle, hits.end());
        return hits;
    }
    hits.reserve(limit);
    for (std::size_t at = after ? position_after(order, start) : 0;
         at < size() && hits.size() < limit; ++at) {
        const std::uint32_t slot = orders_[order][at];
        if (wanted.test(slot) && shown(slot)) hits.push_back({keys[slot], slot});
    }
    return hits;
}

}  // namespace berth::catalog
