// The relay: an OpenAI client talks to the model of its own rental as if the engine stood beside
// it. Only policy is here; sockets are in http.
#pragma once

#include <atomic>

#include "api/router.hpp"
#include "crypto/seal.hpp"
#include "http/resolve.hpp"
#include "relay/relayed_request.hpp"
#include "rentals/serving_jobs.hpp"

namespace berth::relay {

class Relay {
public:
    static constexpr std::size_t body_bytes_max = std::size_t{1} << 20;
    static constexpr Duration connect_max = std::chrono::seconds(5);

    // `reach` says which endpoints of jobs may be dialled.
    Relay(const crypto::Sealer& sealer, http::Reach reach) : jobs_(sealer), reach_(reach) {}

    void add_routes(api::Router& router);
    void connect(db::Database& database, const Clock& clock) {  // before any call
        database_ = &database;
        clock_ = &clock;
    }

    void start();  // looks after what is open and writes what was counted, on threads of its own
    // What is still open then is ended, with a last word.
    void end_in(std::chrono::milliseconds span) { open_requests_.end_in(span); }
    void stop();
    void look() { open_requests_.look(); }

    std::size_t open() const { return open_requests_.open(); }
    // Requests that took no look at the database.
    std::uint64_t remembered() const { return remembered_.load(std::memory_order_relaxed); }
    const Counters::Totals& totals() const { return counters_.totals(); }

private:
    struct Operation {
        const char* method;
        const char* path;  // of the engine
    };
    std::optional<rentals::ServingJob> find(const api::Call& call, JobId id);
    api::Streamed pass(api::Call& call, const JobPath& path, const Operation& operation);
    JobUsage usage(api::Call& call, const JobPath& path);
    OpenRequests::Grounds find_ended(const OpenRequests::Grounds& grounds);
    http::UpstreamRequest make_request(api::Call& call, http::Endpoint endpoint,
                                       const std::string& key, const Operation& operation) const;

    rentals::ServingJobs jobs_;
    const http::Reach reach_;
    db::Database* database_ = nullptr;
    const Clock* clock_ = nullptr;
    DirectDialler dialler_;
    Counters counters_;
    OpenRequests open_requests_;
    std::atomic<std::uint64_t> remembered_{0};
};

}  // namespace berth::relay
