// How long what gates said is kept.
#pragma once

#include "db/db.hpp"

namespace berth::gates {

// Deletes doors that were taken back a month ago, with all that was noted of them; at most
// `rows_max` of them. Returns how many. What was carried for jobs stays.
std::int64_t prune_old_doors(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::gates
