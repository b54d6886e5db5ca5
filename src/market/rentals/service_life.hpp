// When this service could be heard and could hear: our own outages, of which the books of machines
// and jobs must know.
#pragma once

#include "db/db.hpp"

namespace berth::rentals {

// A gap of more than this was an outage.
inline constexpr Duration outage_after = std::chrono::seconds(15);

// Since when a machine must have been heard for what we know of it to be of now: before that the
// service was away, and may since have been given back an older state of its books.
Time heard_since(db::Transaction& tx, Time now, Duration gap);
// When the last outage ended.
Time up_since(db::Transaction& tx);
// Since when agents could have been heard without a gap; now, while nobody listens to them.
Time listening_since(db::Transaction& tx, Time now, Duration gap);
// Notes that agents can be heard. When they could not for longer than `gap`, or ever, they can only
// since now.
void note_listening(db::Transaction& tx, Time now, Duration gap);

}  // namespace berth::rentals
