// The process that listens for a job's SSH clients on a port of the host and starts an sshd for
// each, inside the job (ssh_world.hpp). It reads nothing of what they send. It goes on without the
// agent and ends with the door.
#pragma once

#include <string>

namespace berth::host_agent {

// Returns when it listens, in a process of its own, whose number is in `folder`/pid; `folder`/plan
// says what and where. Gives the exit status of the program, and says on standard error why not.
int start_ssh_listener(const std::string& folder);

}  // namespace berth::host_agent
