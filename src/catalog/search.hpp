// A query against one snapshot.
#pragma once

#include "catalog/snapshot.hpp"
#include "catalog/types.hpp"

namespace berth::catalog {

Sort sort_of(const OffersQuery& query);

// Where a page ends; with `near`, those near come first.
struct Mark {
    bool far = false;
    Place place;
};
std::string to_key(const Mark& mark);          // as it stands in a cursor
Mark mark_from_key(std::string_view key);

struct Found {
    const Index* index = nullptr;
    std::uint32_t slot = 0;
    Mark mark;
};

class Search {
public:
    // All of them outlive it.
    Search(const Snapshot& snapshot, const Pulses& pulses, const OffersQuery& query, Time now)
        : snapshot_(snapshot), pulses_(pulses), query_(query), now_(now) {}

    std::vector<Found> page(const std::optional<Mark>& after, std::size_t limit) const;

    struct Reasons {
        std::size_t listed = 0;
        std::size_t matching = 0;
        std::vector<std::pair<Filter, std::size_t>> removed_by;
        std::vector<std::pair<Filter, Found>> nearest;
    };
    Reasons reasons(std::size_t nearest_max) const;

private:
    // Some offers of a shard, and a view of them.
    struct Wanted {
        const Index* index;
        Bitmap bits;
    };
    struct Part {
        const Index* index;
        const Bitmap* bits;
        std::size_t count;
    };

    bool is_plain() const;
    Wanted matching(const Shard& shard, std::optional<Filter> but = std::nullopt) const;
    static std::vector<Part> parts_of(const std::vector<Wanted>& wanted);
    std::vector<Found> first(const std::vector<Part>& parts, bool far,
                             const std::optional<Place>& after, std::size_t limit) const;

    const Snapshot& snapshot_;
    const Pulses& pulses_;
    const OffersQuery& query_;
    const Time now_;
};

}  // namespace berth::catalog
