#include "catalog/pick.hpp"

#include <algorithm>
#include <queue>

namespace berth::catalog {
namespace {

using Steps = std::span<const Step>;

// How many steps pass, of steps among which those that do come first.
template <class Passes>
std::size_t passing(Steps steps, const Passes& passes) {
    return static_cast<std::size_t>(std::partition_point(steps.begin(), steps.end(), passes) -
                                    steps.begin());
}

}  // namespace

std::vector<Hit> Pick::hits() const {
    const Run whole = run([&](std::size_t order) { return index_.all(order); });
    if (whole.candidates.size() <= few_candidates) return collect({whole});
    if (auto hits = merge({whole}, {first_steps, steps_per_hit})) return *std::move(hits);

    std::vector<Run> runs;
    std::size_t steps = 0;
    std::size_t candidates = 0;
    const Misses wanted = ask_.misses & ~misses_of_steps;
    for (std::uint32_t cell = 0; cell < index_.cells().size(); ++cell) {
        if (sieve_.of_cell(cell) != wanted) continue;
        runs.push_back(
            run([&](std::size_t order) { return index_.within(index_.cells()[cell], order); }));
        steps += runs.back().steps.size();
        candidates += runs.back().candidates.size();
    }
    // A walk takes steps * limit / candidates where those that pass are spread evenly.
    if (steps * ask_.limit < candidates * candidates)
        if (auto hits = merge(runs, {candidates, 0})) return *std::move(hits);
    return collect(runs);
}

template <class StepsOf>
Pick::Run Pick::run(const StepsOf& steps_of) const {
    Run run;
    run.steps = run.candidates = rest(steps_of(ask_.order));
    for (std::size_t range = 0; range < ranges; ++range) {
        const Misses miss = sieve_.miss_of(range);
        if (miss == 0) continue;
        const Steps all = steps_of(range_orders[range]);
        const std::size_t kept =
            passing(all, [&](const Step& step) { return sieve_.is_within(range, step); });
        const Steps some = (ask_.misses & miss) == 0 ? all.first(kept) : all.subspan(kept);
        if (some.size() < run.candidates.size()) run.candidates = some;
    }
    return run;
}

// What lies after the place, and where a filter by the quantity of the order lets something pass.
Pick::Steps Pick::rest(Steps steps) const {
    const auto key = [&](const Step& step) { return index_.key(ask_.order, step.slot); };
    const Sieve::KeySpan span = sieve_.key_span(ask_.order, ask_.misses);
    if (span.to != unmeasured)
        steps = steps.first(passing(steps, [&](const Step& step) { return key(step) <= span.to; }));
    if (span.from != 0)
        steps =
            steps.subspan(passing(steps, [&](const Step& step) { return key(step) < span.from; }));
    if (ask_.after)
        steps = steps.subspan(passing(steps, [&](const Step& step) {
            return index_.place(ask_.order, step.slot) <= *ask_.after;
        }));
    return steps;
}

bool Pick::is_sifted(const Step& step) const {
    return sieve_.of(step) == ask_.misses && shard_.listed.test(step.slot);
}

bool Pick::is_hit(const Step& step) const {
    return is_sifted(step) && is_timely(index_, step.slot, pulses_, now_);
}

std::optional<std::vector<Hit>> Pick::merge(std::vector<Run> runs, Patience patience) const {
    struct Head {
        Place place;
        std::size_t run = 0;
        bool operator>(const Head& other) const { return place > other.place; }
    };
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto push = [&](std::size_t number) {
        if (const Steps steps = runs[number].steps; !steps.empty())
            heads.push({index_.place(ask_.order, steps.front().slot), number});
    };
    for (std::size_t number = 0; number < runs.size(); ++number) push(number);
    std::vector<Hit> hits;
    hits.reserve(ask_.limit);
    std::size_t walked = 0;
    while (!heads.empty()) {
        const Head head = heads.top();
        heads.pop();
        Steps& steps = runs[head.run].steps;
        if (is_hit(steps.front())) hits.push_back({head.place, steps.front().slot});
        if (hits.size() == ask_.limit) break;
        do {
            steps = steps.subspan(1);
            if (++walked > patience.steps + patience.steps_per_hit * hits.size())
                return std::nullopt;
        } while (!steps.empty() && !is_sifted(steps.front()));
        push(head.run);
    }
    return hits;
}

std::vector<Hit> Pick::collect(const std::vector<Run>& runs) const {
    std::vector<Hit> hits;
    for (const Run& run : runs)
        for (const Step& step : run.candidates) {
            if (!is_hit(step)) continue;
            const Hit hit{index_.place(ask_.order, step.slot), step.slot};
            if (!ask_.after || *ask_.after < hit.place) hits.push_back(hit);
        }
    const auto middle =
        hits.begin() + static_cast<std::ptrdiff_t>(std::min(ask_.limit, hits.size()));
    std::partial_sort(hits.begin(), middle, hits.end());
    hits.erase(middle, hits.end());
    return hits;
}

}  // namespace berth::catalog
