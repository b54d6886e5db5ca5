// Taking a machine back. The notice is the machine's own word, signed with its key, so it is given
// by the agent on that machine and by no route of the API.
#pragma once

#include <string>

namespace berth::cli {

// The state folder of the machine's agent on this computer: in the marketplace in a box whose home
// this is, else where the package keeps it.
std::string find_agent_state(const std::string& home, const std::string& machine);

// What the agent said. Throws a Failure when no notice was given.
std::string give_notice(const std::string& state, const std::string& reason);

}  // namespace berth::cli
