// Where this host listens for what comes from outside.
#pragma once

#include <string>

namespace berth::host_agent {

// The address to listen on so that `public_host` is reached, and no more: itself where it is an
// address that this host has, loopback for loopback; every address where it is a name, or one that
// a router in front of the host has.
std::string listen_address(const std::string& public_host);

}  // namespace berth::host_agent
