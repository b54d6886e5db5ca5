// What hosts sell: versions of offers that are only ever added, whether they are listed, and what a
// machine might cost. The offer's state is on the machine's row, which decides what is sold.
#pragma once

#include "db/migrate.hpp"
#include "machines/machine.hpp"
#include "offers/types.hpp"

namespace berth::offers {

// A suggestion for the machine's owner; none when its GPU is not known.
std::optional<MarketPrice> market_price(db::Transaction& tx, const machines::Machine& machine);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::offers
