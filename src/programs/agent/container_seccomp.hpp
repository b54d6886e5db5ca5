// Which system calls a job may make.
#pragma once

#include <string>

namespace berth::agent {

// A profile as podman and runc read it.
std::string seccomp_profile();

}  // namespace berth::agent
