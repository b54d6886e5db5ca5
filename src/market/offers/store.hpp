// All SQL of offers.
#pragma once

#include "offers/offers.hpp"

namespace berth::offers {

bool add_version(db::Transaction& tx, const VersionRow& row);  // false when it is there already
std::vector<VersionRow> list_versions(db::Transaction& tx, OfferId offer, std::int64_t before,
                                      std::int64_t rows_max);  // newest first
// Of machines whose offer is on sale though its time is over, in ascending order.
std::vector<MachineId> find_expired(db::Transaction& tx, Time now, std::int64_t rows_max);

// The price of an offer on a machine with these GPUs.
struct ListingRow {
    Micro rate_micro_per_hour;
    std::int64_t gpu_count = 1;
};
BOOST_DESCRIBE_STRUCT(ListingRow, (), (rate_micro_per_hour, gpu_count))
// Offers on admitted machines with GPUs of this model, the newest first.
std::vector<ListingRow> find_listings(db::Transaction& tx, std::string_view gpu_model_key,
                                      std::int64_t rows_max);

}  // namespace berth::offers
