// What a slot has of its computer. A computer with several cards may be sold as slots: each a
// machine of its own for the market, with cards that no other has and a share of all else.
#pragma once

#include <string>

#include "wire/wire.hpp"

namespace berth::host_agent {

inline constexpr std::size_t slots_max = 16;

struct Share {
    std::string slot;                           // its name
    wire::Integer<0, slots_max - 1> number;     // its place among the slots of its computer
    wire::Integer<1, 65536> cpus;               // processors
    wire::Integer<1, 1'000'000> memory_gib;     // of which a tenth is for what is no job's
    wire::Integer<1, 10'000'000> disk_gib;      // of a filesystem of its own
    wire::Integer<1, 1'000'000> network_mbit;   // each way
    wire::Integer<256, 4'000'000> pids{16384};  // processes and threads
};
BOOST_DESCRIBE_STRUCT(Share, (), (slot, number, cpus, memory_gib, disk_gib, network_mbit, pids))

}  // namespace berth::host_agent
