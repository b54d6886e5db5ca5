// Who answers for a start that did not come to READY.
#pragma once

#include "rentals/store.hpp"

namespace berth::rentals {

enum class Blame {
    host,    // counts towards the machine's quarantine
    renter,  // counts towards what an account may start without being billed
    nobody,
};

// As the code of its failure tells. What an image of the renter's own does is never the host's
// fault, and what the host itself could not do is never the renter's. An image that a template
// names and that does not come is the host's fault only where it came to others lately: else it is
// the registry's, or the template's.
Blame blame_for(db::Transaction& tx, const JobTerms& terms, FailureCode code, Time now);

}  // namespace berth::rentals
