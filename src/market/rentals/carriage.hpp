// Nobody pays for what a gate does not carry. Gates say when the doors of a job led nowhere; here
// that becomes the times in which its meter stands. A gate's word can stop a meter and never start
// one: what is billed is still only what the host agent reports and our clock allows.
#pragma once

#include "rentals/store.hpp"

namespace berth::rentals {

// Looks at what gates said since the look before, which the row remembers; the caller, who has
// locked the job, saves it. Its renter is told when the meter begins to stand and when it goes on.
void look_at_carriage(const db::Context& context, JobRow& job);

// The job as it would be after a look, for who only reads.
JobRow seen_with_carriage(db::Transaction& tx, JobRow job, Time now);

// What gates carried for it; none of a job that is reached directly.
std::optional<std::int64_t> find_carried_bytes(db::Transaction& tx, const JobTerms& terms);

}  // namespace berth::rentals
