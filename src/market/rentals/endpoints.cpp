#include "rentals/endpoints.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "wire/wire.hpp"

namespace berth::rentals {
namespace {

struct StoredEndpoints {
    std::vector<StoredEndpoint> items;
};
BOOST_DESCRIBE_STRUCT(StoredEndpoints, (), (items))

std::string seal_place(JobId job) { return "jobs:" + to_string(job); }

}  // namespace

std::vector<StoredEndpoint> endpoints_of(const std::optional<std::string>& stored) {
    if (!stored) return {};
    return wire::decode<StoredEndpoints>(*stored, "endpoints").items;
}

std::string stored(std::vector<StoredEndpoint> endpoints) {
    return wire::encode(StoredEndpoints{std::move(endpoints)});
}

std::vector<StoredEndpoint> present_endpoints(db::Transaction& tx, JobId job,
                                              std::vector<StoredEndpoint> endpoints) {
    const auto has_door = [](const StoredEndpoint& each) { return each.door_id.has_value(); };
    if (std::none_of(endpoints.begin(), endpoints.end(), has_door)) return endpoints;
    const auto doors = gates::doors_of_job(tx, job);
    std::erase_if(endpoints, [&](StoredEndpoint& each) {
        if (!each.door_id) return false;
        const auto door = std::find_if(doors.begin(), doors.end(), [&](const auto& one) {
            return one.door_id == *each.door_id;
        });
        if (door == doors.end()) return true;
        each.host = door->host;
        each.port = {door->port};
        return false;
    });
    return endpoints;
}

std::string seal_endpoint_key(const crypto::Sealer& sealer, JobId job, std::string_view key,
                              Random& random) {
    const std::string context = seal_place(job);
    return to_base64url(sealer.seal({key, context}, random));
}

std::string open_endpoint_key(const crypto::Sealer& sealer, JobId job, std::string_view sealed) {
    const std::string context = seal_place(job);
    const auto bytes = from_base64url(sealed);
    require(bytes.has_value(), "a sealed key is text of ours");
    const auto key = sealer.open({*bytes, context});
    require(key.has_value(), "what we sealed opens");
    return *key;
}

void reseal(db::Database& database, crypto::Resealing& resealing) {
    for (std::optional<JobId> after = JobId{}; after;)
        after = database.write([&](db::Transaction& tx) {
            std::optional<JobId> last;
            for (const SealedKey& row : list_sealed_keys(tx, *after, resealed_at_once)) {
                const auto sealed = from_base64url(row.endpoint_key);
                require(sealed.has_value(), "a sealed key is text of ours");
                const std::string context = seal_place(row.job_id);
                if (const auto renewed = resealing.renew({*sealed, context}))
                    set_sealed_key(tx, row.job_id, to_base64url(*renewed));
                last = row.job_id;
            }
            return last;
        });
}

}  // namespace berth::rentals
