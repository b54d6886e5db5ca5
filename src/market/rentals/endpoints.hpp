// Where a job can be reached, and the key that its workload expects of whoever speaks to it.
#pragma once

#include "crypto/seal.hpp"
#include "gates/gates.hpp"
#include "rentals/store.hpp"

namespace berth::rentals {

// An endpoint as READY announced it; fixed for the job, but for the place of a door.
struct StoredEndpoint {
    Uuid endpoint_id;
    EndpointKind kind = EndpointKind::http;
    std::string name;
    std::string host;
    Count port;
    Nullable<std::string> tls_key = {};       // SHA-256 in hex
    std::optional<std::string> address = {};  // where an http endpoint answered
    // By a gate: where the door is now says the gate's side, and host and port where it was.
    std::optional<gates::DoorId> door_id = {};
};
BOOST_DESCRIBE_STRUCT(StoredEndpoint, (),
                      (endpoint_id, kind, name, host, port, tls_key, address, door_id))
// From JobDetails::endpoints, and for it.
std::vector<StoredEndpoint> endpoints_of(const std::optional<std::string>& stored);
std::string stored(std::vector<StoredEndpoint> endpoints);
// The same as they are reached now. One whose door was taken back is left out: its port may become
// somebody else's.
std::vector<StoredEndpoint> present_endpoints(db::Transaction& tx, JobId job,
                                              std::vector<StoredEndpoint> endpoints);

// The key that the workload expects of whoever speaks to it; sealed in the row.
std::string seal_endpoint_key(const crypto::Sealer& sealer, JobId job, std::string_view key,
                              Random& random);
std::string open_endpoint_key(const crypto::Sealer& sealer, JobId job, std::string_view sealed);
inline std::string open_endpoint_key(const crypto::Sealer& sealer, const JobTerms& terms) {
    return open_endpoint_key(sealer, terms.job_id, terms.endpoint_key);
}

inline constexpr std::int64_t resealed_at_once = 200;
// Brings the keys of jobs under the present one of the sealer.
void reseal(db::Database& database, crypto::Resealing& resealing);

}  // namespace berth::rentals
