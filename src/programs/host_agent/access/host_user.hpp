// A user of the host for what strangers speak to, so that it has nothing that anybody has.
#pragma once

#include <sys/types.h>

namespace berth::host_agent {

// Made when there is none, as a user that nobody can log in as. Without root: ourselves, who can
// become nobody else. Throws std::runtime_error.
uid_t front_user();

}  // namespace berth::host_agent
