// The agent of a computer that is sold in slots: starts an agent for each slot that is enrolled,
// and starts one that ended again, without the others noticing. One that is rented has its agent
// whatever has become of the file. It speaks to nobody itself.
#pragma once

#include "host_agent/program/options.hpp"

namespace berth::host_agent {

int supervise(const Options& options);

}  // namespace berth::host_agent
