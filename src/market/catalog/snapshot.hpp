// What the catalog answers from: an index of nearly everything, a small one of what changed since,
// and the templates. Made anew about twice a second, out of parts that are mostly the same.
#pragma once

#include "catalog/prices.hpp"
#include "catalog/pulses.hpp"
#include "offers/template_types.hpp"

namespace berth::catalog {

// A template as offers are measured by it.
struct Measure {
    offers::TemplateId template_id;
    offers::FitNeeds needs;
    std::uint64_t image = 0;                              // image_number() of what it runs
    std::optional<offers::TimeToReady> usual_start = {};  // where enough were measured
};

struct Snapshot {
    bool loaded = false;  // false until the database was read for the first time
    Time changed_at;      // when an offer last came, went or changed
    Shards shards;
    std::vector<Measure> measures;  // by id
    LatePrices late_prices;

    const Prices& prices() const { return late_prices.of(shards); }
};

// Whether an offer can be rented at this moment, as far as time tells. A listed offer may have
// fallen silent, or begun or ended, since its shard was made.
bool is_timely(const Index& index, std::uint32_t slot, const Pulses& pulses, Time now);

// The shard at `now`; `superseded` are slots that the other shard knows better, if any are. After
// an outage of ours only machines that were heard since are known to be free.
struct Moment {
    Time now;
    Time heard_since;
};
Shard make_shard(std::shared_ptr<const Index> index, const Bitmap* superseded, const Pulses& pulses,
                 const Moment& moment);

}  // namespace berth::catalog
