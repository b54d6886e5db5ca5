// What operators have of an account whose owner leaves.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"

namespace berth::admin {

// Whether a rental of the account is under dispute, on either side. What is disputed may have left
// before, so that no pocket shows it.
bool has_open_dispute(db::Transaction& tx, AccountId account);
// What operators wrote down about its owner.
void forget_notes(db::Transaction& tx, AccountId account);

}  // namespace berth::admin
