// Hashes and keyed hashes. This folder alone sees the cryptographic libraries.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace berth::crypto {

Bytes sha256(std::string_view data);                             // 32 bytes
Bytes hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes

// Takes the same time wherever the two differ. Different lengths are told at once.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace berth::crypto
