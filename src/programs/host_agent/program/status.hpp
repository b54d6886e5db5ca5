// How a machine stands, as its owner reads it at a terminal.
#pragma once

#include <string>
#include <vector>

#include "agent_protocol/standing.hpp"
#include "gpu/gpu.hpp"

namespace berth::host_agent {

// "0.4000"; six decimals where four do not tell all.
std::string money_in_words(Micro amount);
// "45 s", "12 min", "3 h 05 min", "2 days 4 h".
std::string span_in_words(Duration span);

std::string standing_in_words(const agent_protocol::MachineStanding& standing);
// What is in the way, each with what to do; empty when nothing is.
std::string findings_in_words(const agent_protocol::MachineStanding& standing);
std::string cards_in_words(const gpu::Inventory& inventory,
                           const std::vector<agent_protocol::GpuTelemetry>& samples);

}  // namespace berth::host_agent
