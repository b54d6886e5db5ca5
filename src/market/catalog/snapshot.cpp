#include "catalog/snapshot.hpp"

#include "machines/machine.hpp"

namespace berth::catalog {
namespace {

// What begins before the next snapshot is made must be in this one.
constexpr Duration begins_soon = std::chrono::seconds(5);

}  // namespace

bool is_timely(const Index& index, std::uint32_t slot, const Pulses& pulses, Time now) {
    return now - pulses.get(index.pulse(slot)) <= machines::heartbeat_fresh &&
           index.available_from(slot) <= now && now < index.available_until(slot);
}

Shard make_shard(std::shared_ptr<const Index> index, const Bitmap* superseded, const Pulses& pulses,
                 Time now) {
    Shard shard;
    shard.index = std::move(index);
    const Index& all = *shard.index;
    shard.listed = Bitmap(all.size());
    for (std::uint32_t slot = 0; slot < all.size(); ++slot)
        if (now - pulses.get(all.pulse(slot)) <= machines::heartbeat_fresh &&
            all.available_from(slot) <= now + begins_soon && now < all.available_until(slot))
            shard.listed.set(slot);
    if (superseded != nullptr) shard.listed.without(*superseded);
    return shard;
}

}  // namespace berth::catalog
