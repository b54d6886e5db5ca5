// Ports of this host.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

namespace berth::host_agent {

// The first from `first` to `last` that nobody listens on and that is not in `taken`.
std::optional<std::int64_t> find_port(std::int64_t first, std::int64_t last,
                                      const std::set<std::int64_t>& taken);
// One of loopback that nobody listens on.
std::optional<std::int64_t> find_local_port();

}  // namespace berth::host_agent
