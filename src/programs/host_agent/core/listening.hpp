// Where this host listens for what comes from outside.
#pragma once

#include <string>

namespace berth::host_agent {

// The address to listen on so that `public_host` is reached, and no more: itself where it is an
// address that this host has, loopback for loopback and `localhost`; every address where it is
// another name, or an address that a router in front of the host has. Names are not looked up: what
// this host takes its own for in /etc/hosts, often loopback, is not what the world does.
std::string listen_address(const std::string& public_host);

}  // namespace berth::host_agent
