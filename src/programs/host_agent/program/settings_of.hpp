// What the command line says of the host, over what was kept.
#pragma once

#include "host_agent/core/state_folder.hpp"
#include "host_agent/program/options.hpp"

namespace berth::host_agent {

// Throws std::invalid_argument with a sentence when an option makes no sense.
Settings settings_of(const Options& options, Settings settings);

}  // namespace berth::host_agent
