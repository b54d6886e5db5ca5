// What an SSH server shows to whoever comes: its banner, and a host key that it proves to have, by
// the first exchange of keys (RFC 4253, RFC 8731). Nobody logs in.
#pragma once

#include "base/random.hpp"
#include "http/dial.hpp"

namespace berth::rentals {

struct SshGreeting {
    std::string banner;       // "SSH-2.0-OpenSSH_9.2p1"
    std::string fingerprint;  // of its Ed25519 key, as ssh-keygen prints it: "SHA256:…"
};

// Blocks. Throws http::TransportError with what went wrong.
SshGreeting greet_ssh(http::DialledConnection& connection, Random& random);

}  // namespace berth::rentals
