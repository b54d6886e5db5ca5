// How a machine comes in: its owner asks for a one-time token, and the agent on the machine gives
// it back together with the machine's public key.
#pragma once

#include "api/call.hpp"
#include "geo/geo.hpp"
#include "machines/host_agent_types.hpp"

namespace berth::machines {

inline constexpr Duration enrollment_lasts = std::chrono::minutes(15);

class Enrollments {
public:
    // `server` is where agents reach this service.
    Enrollments(const geo::Table& countries, const Commands& commands, std::string server)
        : countries_(countries), commands_(commands), server_(std::move(server)) {}

    Enrollment create(api::Call& call, const NewEnrollment& request) const;
    // To whoever asked for it.
    EnrollmentShown show(api::Call& call, EnrollmentId id) const;
    // The same token with the same key and manifest again gives the same answer: the first one may
    // have been lost on its way.
    agent_protocol::Enrolled redeem(api::Call& call, const agent_protocol::Enroll& request) const;

private:
    const geo::Table& countries_;
    const Commands& commands_;
    const std::string server_;
};

// For the worker: deletes tokens a month after they expired. Returns how many.
std::int64_t prune_enrollments(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::machines
