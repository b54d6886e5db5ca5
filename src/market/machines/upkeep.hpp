// What the worker does for machines: begins tests, dials announced endpoints, admits what passed,
// and ends what is over. Deadlines are columns that are looked at here, never timers in memory.
#pragma once

#include "http/resolve.hpp"
#include "machines/qualification.hpp"
#include "worker/worker.hpp"

namespace berth::machines {

inline constexpr Duration upkeep_every = std::chrono::seconds(1);
inline constexpr std::int64_t upkeep_rows_max = 100;  // of one kind in one pass

struct UpkeepParts {
    const Qualifications& qualifications;
    db::Database& database;
    const Clock& clock;
    Random& random;
};

// One pass over everything that is due; how much was done.
std::int64_t run_upkeep(const UpkeepParts& parts, worker::Attempt& attempt);
worker::Kind upkeep_kind(const UpkeepParts& parts);

// Asks the endpoint of a test whether it is the machine's. `reach` says which addresses may be
// dialled.
worker::Kind dial_endpoint_kind(const UpkeepParts& parts, http::Reach reach);
// Looks at what an agent showed of its cards: seconds of computing, on a lane of its own.
worker::Kind examine_proof_kind(const UpkeepParts& parts);
Qualifications::DialResult dial_endpoint(const Run& run, http::Reach reach);
// Its own endpoint first and, when that does not answer, the door: ports that are open are quicker.
Qualifications::DialResult dial_ways(const Run& run, const std::optional<DoorPlace>& door,
                                     http::Reach reach);

}  // namespace berth::machines
