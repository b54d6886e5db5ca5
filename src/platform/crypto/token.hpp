// Secrets that the service hands out: API keys, session cookies, links. Their prefix lets people
// and scanners recognise them, and their checksum lets a mistyped or invented one be refused
// without asking the database. They are stored only as a hash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/issued.hpp"
#include "base/random.hpp"

namespace berth::crypto {

// The prefix, 256 random bits in 43 letters and digits, and the CRC-32 of all that in 6. A prefix
// is one of base/issued.hpp, so that the secret is found wherever it should not be; what is no
// secret has none.
std::string make_token(std::string_view prefix, Random& random);

// Shape and checksum only. What passes is not yet known to anybody.
bool looks_like_token(std::string_view prefix, std::string_view text);

std::uint32_t crc32(std::string_view data);  // the one of zlib, PNG and Ethernet

}  // namespace berth::crypto
