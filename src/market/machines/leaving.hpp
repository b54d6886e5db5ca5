// Machines of an account whose owner leaves.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::machines {

// Those that are not retired.
std::int64_t count_owned(db::Transaction& tx, AccountId owner);
// Tokens that no machine has come with: none comes any more.
void end_enrollments(db::Transaction& tx, AccountId owner);
// What their owner called them.
void forget_labels(db::Transaction& tx, AccountId owner);

}  // namespace berth::machines
