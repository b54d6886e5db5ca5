// What a job has sent of what its price includes, by its host's count.
#pragma once

#include "rentals/store.hpp"

namespace berth::rentals {

// None of a job from before what is included was kept with it, and of one that told of nothing yet.
std::optional<Egress> egress_of(const JobTerms& terms, std::optional<std::int64_t> sent_bytes);

}  // namespace berth::rentals
