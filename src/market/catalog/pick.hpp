// The first offers of a shard in an order that miss the filters one says, and no others.
#pragma once

#include "catalog/sieve.hpp"
#include "catalog/snapshot.hpp"

namespace berth::catalog {

struct Ask {
    std::size_t order = 0;
    Misses misses = 0;
    std::optional<Place> after;
    std::size_t limit = 0;
};

struct Hit {
    Place place;
    std::uint32_t slot = 0;

    friend bool operator<(const Hit& a, const Hit& b) { return a.place < b.place; }
};

// Three ways, from the usual to the rare: a short walk along the whole order; a walk along the
// orders of the cells that pass, merged; and collecting what a filter of a range keeps, where that
// is less than such a walk would meet. So what a page costs depends on how rare its offers are
// among those of their cells, and not on how many offers there are.
class Pick {
public:
    // All of them outlive it.
    Pick(const Shard& shard, const Sieve& sieve, const Ask& ask, const Pulses& pulses, Time now)
        : shard_(shard),
          index_(*shard.index),
          sieve_(sieve),
          ask_(ask),
          pulses_(pulses),
          now_(now) {}

    std::vector<Hit> hits() const;

private:
    // How long the walk along the whole order goes on: while it keeps meeting what is wanted.
    static constexpr std::size_t first_steps = 192;
    static constexpr std::size_t steps_per_hit = 48;
    static constexpr std::size_t few_candidates = 256;

    using Steps = std::span<const Step>;
    // Offers of a cell, or all of them.
    struct Run {
        Steps steps;       // in the order, from the place on
        Steps candidates;  // the fewest in a row among which all lie that pass
    };

    template <class StepsOf>
    Run run(const StepsOf& steps_of) const;
    Steps rest(Steps steps) const;
    bool is_sifted(const Step& step) const;
    bool is_hit(const Step& step) const;
    struct Patience {
        std::size_t steps = 0;
        std::size_t steps_per_hit = 0;  // more for each that was found
    };
    // Empty when that took more steps than it may.
    std::optional<std::vector<Hit>> merge(std::vector<Run> runs, Patience patience) const;
    std::vector<Hit> collect(const std::vector<Run>& runs) const;

    const Shard& shard_;
    const Index& index_;
    const Sieve& sieve_;
    const Ask& ask_;
    const Pulses& pulses_;
    const Time now_;
};

}  // namespace berth::catalog
