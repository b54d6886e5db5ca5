// A socket that the world comes to.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace berth::host_agent {

// Throws std::runtime_error with a sentence when the port is taken, or the address is none of ours.
Descriptor listen_at(const std::string& address, std::int64_t port);

}  // namespace berth::host_agent
