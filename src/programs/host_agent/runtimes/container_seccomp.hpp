// Which system calls a job may make.
#pragma once

#include <string>

namespace berth::host_agent {

// A profile as podman and runc read it.
std::string seccomp_profile();

}  // namespace berth::host_agent
