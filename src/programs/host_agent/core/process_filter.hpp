// Which system calls an engine of the host may not make, nor the process that strangers speak to.
// A container has a list of what it may (container_seccomp.hpp); engines are programs of the host's
// owner that know no such list, so here it is what neither needs: ways to more of the kernel, or to
// other processes.
#pragma once

#include <string>

namespace berth::host_agent {

// As the kernel and bubblewrap's --seccomp take it: an array of sock_filter.
std::string process_filter();

// Puts it on this process and what it starts, for good; no new privileges must be set. False when
// the kernel does not let us. Safe between fork and exec.
bool put_on_filter(const std::string& filter);

}  // namespace berth::host_agent
