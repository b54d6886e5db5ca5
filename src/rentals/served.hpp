// The model that a job serves: where it was seen at READY, and the key that it expects.
#pragma once

#include "http/upstream.hpp"
#include "rentals/endpoints.hpp"

namespace berth::rentals {

// An http endpoint of a job of kind model, or one named `openai`; the latter first. Null: none.
const StoredEndpoint* find_model_endpoint(std::optional<TemplateKind> kind,
                                          const std::vector<StoredEndpoint>& endpoints);

struct ServedJob {
    AccountId renter_id;
    State state = State::RESERVED;
    Time since;  // READY, or the reservation before that
    // The address that answered at READY and no other; none while there is no model.
    std::optional<http::Endpoint> endpoint = {};
    std::string key = {};  // what the engine expects as a Bearer; empty without an endpoint
};
std::optional<ServedJob> find_served(db::Transaction& tx, const crypto::Sealer& sealer, JobId id);

// Those of them that are not RUNNING any more.
std::vector<JobId> find_ended(db::Transaction& tx, const std::vector<JobId>& jobs);

}  // namespace berth::rentals
