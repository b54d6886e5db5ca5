// A key of its own for a server that nobody vouches for: its clients know the key's hash.
#pragma once

#include <string>

#include "base/bytes.hpp"

namespace berth::http {

// Makes a P-256 key and a certificate with it, as PEM files (0600), unless both are there already.
// Gives the SHA-256 of the public key, as Endpoint::key_sha256 has it. Throws std::runtime_error.
Bytes make_self_signed(const std::string& certificate_file, const std::string& key_file);

}  // namespace berth::http
