#include "catalog/snapshot.hpp"

#include "machines/listing.hpp"

namespace berth::catalog {
namespace {

// What begins before the next snapshot is made must be in this one.
constexpr Duration begins_soon = std::chrono::seconds(5);

}  // namespace

bool is_timely(const Index& index, std::uint32_t slot, const Pulses& pulses, Time now) {
    return now - pulses.get(index.pulse(slot)) <= machines::heartbeat_fresh &&
           machines::is_in_time(index.available_from(slot), index.available_until(slot), now);
}

Shard make_shard(std::shared_ptr<const Index> index, const Bitmap* superseded, const Pulses& pulses,
                 const Moment& moment) {
    Shard shard;
    shard.index = std::move(index);
    const Index& all = *shard.index;
    const Time heard_since = std::max(moment.heard_since, moment.now - machines::heartbeat_fresh);
    shard.listed = Bitmap(all.size());
    for (std::uint32_t slot = 0; slot < all.size(); ++slot)
        if (pulses.get(all.pulse(slot)) >= heard_since &&
            all.available_from(slot) <= moment.now + begins_soon &&
            all.available_until(slot) - moment.now >= machines::availability_left_min)
            shard.listed.set(slot);
    if (superseded != nullptr) shard.listed.without(*superseded);
    return shard;
}

}  // namespace berth::catalog
