#include "offers/store.hpp"

#include "db/name_list.hpp"
#include "machines/states.hpp"

namespace berth::offers {
namespace {

const db::Query<VersionRow> add_version_sql(
    "INSERT INTO offer_versions ({}) VALUES ({$}) "
    "ON CONFLICT (offer_id, offer_version) DO NOTHING");
const db::Query<VersionRow> find_version_sql(
    "SELECT {} FROM offer_versions WHERE offer_id = $1 AND offer_version = $2");
const db::Query<VersionRow> list_versions_sql(
    "SELECT {} FROM offer_versions WHERE offer_id = $1 AND offer_version < $2 "
    "ORDER BY offer_version DESC LIMIT $3");
const std::string expired_sql =
    "SELECT machine_id FROM (SELECT machine_id FROM machines "
    "WHERE available_until <= $1 AND offer_state IN " +
    db::name_list(machines::offered_states) +
    " "
    "AND retired_at IS NULL ORDER BY available_until LIMIT $2) AS over ORDER BY machine_id";

// Offers on machines that were admitted: a price that nobody could have paid says nothing.
const db::Query<ListingRow> listings_sql(
    "SELECT {} FROM (SELECT v.rate_micro_per_hour, m.gpu_count FROM machines AS m "
    "JOIN offer_versions AS v ON v.offer_id = m.offer_id AND v.offer_version = m.offer_version "
    "WHERE m.gpu_model_key = $1 AND m.offer_state = 'listed' AND m.retired_at IS NULL "
    "AND m.state IN " +
    db::name_list(machines::rentable_states) +
    " AND m.gpu_count >= 1 "
    "ORDER BY m.listed_at DESC LIMIT $2) AS listings");

}  // namespace

bool add_version(db::Transaction& tx, const VersionRow& row) {
    return tx.insert(add_version_sql, row).affected == 1;
}

std::optional<VersionRow> find_current_version(db::Transaction& tx,
                                               const machines::Machine& machine) {
    return tx.fetch_one(find_version_sql, machine.offer_id, machine.offer_version);
}

std::vector<VersionRow> list_versions(db::Transaction& tx, OfferId offer, std::int64_t before,
                                      std::int64_t rows_max) {
    return tx.fetch(list_versions_sql, offer, before, rows_max);
}

std::vector<MachineId> find_expired(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch_values<MachineId>(expired_sql, now, rows_max);
}

std::vector<ListingRow> find_listings(db::Transaction& tx, std::string_view gpu_model_key,
                                      std::int64_t rows_max) {
    return tx.fetch(listings_sql, gpu_model_key, rows_max);
}

}  // namespace berth::offers
