// The process that speaks with strangers. It has the sockets, TLS keys and hashes of job keys that
// the agent handed it and nothing else of the host: no root, no capability, no file, no program.
// Whoever takes it over has the doors of the jobs that run, and neither the machine's key nor the
// agent. When it dies the agent starts another; when the agent dies it ends.
#pragma once

#include <sys/types.h>

namespace berth::host_agent {

inline constexpr int front_socket = 3;  // as the agent starts it

// Gives up what it may not have, becoming `user`, and obeys at `socket` until its other end is
// gone.
int run_front(int socket, uid_t user);

}  // namespace berth::host_agent
