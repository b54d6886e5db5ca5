// All SQL of offers.
#pragma once

#include "offers/offers.hpp"

namespace berth::offers {

bool add_version(db::Transaction& tx, const VersionRow& row);  // false when it is there already
std::vector<VersionRow> list_versions(db::Transaction& tx, OfferId offer, std::int64_t before,
                                      std::int64_t rows_max);  // newest first
// Of machines whose offer is on sale though its time is over, in ascending order.
std::vector<MachineId> find_expired(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::offers
