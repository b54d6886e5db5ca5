// Judges what berth-inside said: each line of the launch profile, as it was found from inside.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host_agent/core/runtime.hpp"

namespace berth::host_agent {

using InsideFacts = std::map<std::string, std::string>;
InsideFacts read_inside(const std::string& printed);

// What does not hold, a sentence each; empty when everything does.
std::vector<std::string> broken_profile(const InsideFacts& facts, const Limits& limits);
// The same of names, of a connection and of the cards, as the machine test asks for them.
std::vector<std::string> broken_promises(const InsideFacts& facts,
                                         const Runtime::ProfileQuestion& question);

}  // namespace berth::host_agent
