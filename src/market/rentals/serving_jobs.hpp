// The model that a job serves: where it was seen at READY, and the key that it expects.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "http/upstream.hpp"
#include "rentals/endpoints.hpp"

namespace berth::rentals {

// An http endpoint of a job of kind model, or one named `openai`; the latter first. Null: none.
const StoredEndpoint* find_model_endpoint(std::optional<TemplateKind> kind,
                                          const std::vector<StoredEndpoint>& endpoints);

struct ServingJob {
    AccountId renter_id;
    JobState state = JobState::RESERVED;
    Time since;  // READY, or the reservation before that
    // The address that answered at READY and no other, or where its door is now; none while there
    // is no model.
    std::optional<http::Endpoint> endpoint = {};
    std::string key = {};     // what the engine expects as a Bearer; empty without an endpoint
    bool is_by_gate = false;  // then no host has chosen the address, and any may be dialled
};

// What decides whether a job serves a model, for whom and where.
std::vector<db::Watched> watched_of_serving_jobs();

// Finds them. What a row says is read each time, or remembered for a moment of one that runs; what
// its endpoints and its sealed key mean is kept for as long as the row says the same.
class ServingJobs {
public:
    static constexpr std::size_t kept_max = 1024;

    explicit ServingJobs(const crypto::Sealer& sealer) : sealer_(sealer) {}

    std::optional<ServingJob> find(db::Transaction& tx, JobId id, Time now);
    // Without a transaction; nothing when that takes one. `changes` are those of the database.
    std::optional<ServingJob> recall(JobId id, std::uint64_t changes, Time now);

private:
    struct Read;
    struct Kept {
        std::shared_ptr<const Read> read;
        std::optional<http::Endpoint> endpoint;
        AccountId renter_id;
        Time since;
        db::Reading reading;

        ServingJob job() const;
    };
    std::shared_ptr<const Read> read(JobId id, const ServiceRow& row);

    const crypto::Sealer& sealer_;
    std::mutex mutex_;
    std::unordered_map<JobId, Kept> kept_;
};

// Those of them that are not RUNNING any more.
std::vector<JobId> find_ended(db::Transaction& tx, const std::vector<JobId>& jobs);

}  // namespace berth::rentals
