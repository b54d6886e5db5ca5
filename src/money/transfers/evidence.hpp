// What other features may tell of transfers that are over.
#pragma once

#include <map>
#include <span>

#include "db/db.hpp"
#include "transfers/types.hpp"

namespace berth::transfers {

// The transactions on chain that ended these transfers; one that has not ended there has none.
std::map<TransferId, std::string> find_payments(db::Transaction& tx,
                                                std::span<const TransferId> transfers);

}  // namespace berth::transfers
