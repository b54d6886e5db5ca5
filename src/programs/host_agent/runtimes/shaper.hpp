// How fast a job's network is, by queues where the job has no right to change them.
//
// One that has sent what its offer includes goes on, slowly: 10 megabits a second, whatever leaves
// it. It is never cut. One of a slot has the slot's share of the line, each way. What its renter
// fetches and brings by SSH passes a port of the host, and is slowed there (guard.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace berth::host_agent {

inline constexpr std::int64_t shaped_mbit = 10;

constexpr std::int64_t bytes_per_second(std::int64_t mbit) { return mbit * 1'000'000 / 8; }

// What leaves a network: `pid` is a process in it. Harmless when it is slow already. Throws
// std::runtime_error.
void slow_down(pid_t pid, std::int64_t mbit);
// What comes to it over the host's bridge, likewise.
void slow_down_bridge(const std::string& bridge, std::int64_t mbit);

}  // namespace berth::host_agent
