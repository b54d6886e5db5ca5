// Announced deposits of an account whose owner leaves.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::funding {

// Claims that wait for the chain: their money is still to come.
std::int64_t count_waiting_claims(db::Transaction& tx, AccountId account);
// What was announced and never came.
void cancel_intents(db::Transaction& tx, AccountId account);

}  // namespace berth::funding
