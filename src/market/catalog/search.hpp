// A query against one snapshot.
#pragma once

#include <limits>

#include "catalog/sieve.hpp"
#include "catalog/snapshot.hpp"

namespace berth::catalog {

Sort sort_of(const OffersQuery& query);

// Where a page ends; with `near`, those near come first.
struct Mark {
    bool far = false;
    Place place;
};
std::string to_key(const Mark& mark);  // as it stands in a cursor
Mark mark_from_key(std::string_view key);

struct Found {
    const Index* index = nullptr;
    std::uint32_t slot = 0;
    Mark mark;
};

class Search {
public:
    // All of them outlive it.
    Search(const Snapshot& snapshot, const Pulses& pulses, const OffersQuery& query, Time now,
           const Beyond& beyond = {});

    std::vector<Found> page(const std::optional<Mark>& after, std::size_t limit) const;

    struct Reasons {
        std::size_t listed = 0;
        std::size_t matching = 0;
        std::vector<std::pair<Filter, std::size_t>> removed_by;
        std::vector<std::pair<Filter, Found>> nearest;
    };
    Reasons reasons(std::size_t nearest_max) const;

    // Figures of all that passes, on whatever page.
    struct Overview {
        struct Model {
            std::size_t count = 0;
            std::int64_t lowest_micro_per_gpu_hour = std::numeric_limits<std::int64_t>::max();
        };
        std::size_t listed = 0;  // before any filter
        Model all;
        std::vector<Model> models;  // as Prices has them; what passes all filters but `model`
    };
    Overview overview() const;

private:
    // Those that miss these filters and no others.
    std::vector<Found> first(Misses misses, const std::optional<Place>& after,
                             std::size_t limit) const;

    const Snapshot& snapshot_;
    const Pulses& pulses_;
    const OffersQuery& query_;
    const Beyond beyond_;
    const Time now_;
    std::vector<Sieve> sieves_;  // one for each shard
};

}  // namespace berth::catalog
