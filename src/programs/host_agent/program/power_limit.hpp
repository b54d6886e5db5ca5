// How much the cards may draw, by the owner's policy: put on them with the driver's own program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host_agent/core/runtime.hpp"

namespace berth::host_agent {

// Why some card does not have the limit; empty when each does. Harmless when they have it already.
std::optional<std::string> limit_power(const std::vector<GpuName>& cards, std::int64_t watts);

}  // namespace berth::host_agent
