#include "rentals/blame.hpp"

#include "gates/gates.hpp"

namespace berth::rentals {
namespace {

constexpr Duration came_lately = std::chrono::hours(24);

}  // namespace

Blame blame_for(db::Transaction& tx, const JobTerms& terms, FailureCode code, Time now) {
    const bool is_own_image = !terms.template_id;
    switch (code) {
        case FailureCode::IMAGE_NOT_FOUND:
        case FailureCode::IMAGE_DIGEST_MISMATCH:
        case FailureCode::PULL_TIMEOUT:
            if (is_own_image) return Blame::renter;
            return ran_elsewhere(tx, terms, now - came_lately) ? Blame::host : Blame::nobody;
        case FailureCode::OUT_OF_MEMORY:
        case FailureCode::ENGINE_EXITED:
        case FailureCode::PROBE_FAILED: return is_own_image ? Blame::renter : Blame::host;
        case FailureCode::NO_GATE:
            // Whoever has a door was given a gate, also who gave it back. The gate may have died.
            if (terms.is_by_gate() && !gates::has_gate_that_lives(tx, terms.job_id, now))
                return Blame::nobody;
            return is_own_image ? Blame::nobody : Blame::host;
        case FailureCode::DISK_FULL:
        case FailureCode::HOST_REJECTED:
        case FailureCode::HOST_LOST:
        case FailureCode::INTERNAL: return is_own_image ? Blame::nobody : Blame::host;
    }
    return Blame::nobody;
}

}  // namespace berth::rentals
