// A job that has sent what its offer includes goes on, slowly: 10 megabits a second, whatever
// leaves it, by a queue in its own network where it has no right to change it. It is never cut.
// What its renter fetches by SSH leaves by a port of the host, and is slowed there (guard.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace berth::host_agent {

inline constexpr std::int64_t shaped_mbit = 10;

// `pid` is a process in the network. Harmless when it is slow already. Throws std::runtime_error.
void slow_down(pid_t pid);

}  // namespace berth::host_agent
