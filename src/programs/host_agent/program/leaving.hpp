// What an agent leaves on a host, taken away.
#pragma once

#include <string>

#include "host_agent/core/state_folder.hpp"

namespace berth::host_agent {

// Everything but the identity, which goes last and with the folder: whoever is interrupted runs it
// again. Of a folder that is not the packaged one the rest of the host is left alone: another agent
// may work there. Throws std::runtime_error when something cannot be removed.
void remove_traces(StateFolder& state, const Settings& settings);

}  // namespace berth::host_agent
