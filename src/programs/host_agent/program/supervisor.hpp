// The agent of a computer that is sold in slots: starts an agent for each slot that is enrolled,
// and starts one that ended again, without the others noticing. It speaks to nobody itself.
#pragma once

#include "host_agent/program/options.hpp"
#include "host_agent/program/slots.hpp"

namespace berth::host_agent {

int supervise(const Options& options, const Slots& slots);

}  // namespace berth::host_agent
