// Ethereum's hash: Keccak with its original padding, which is not NIST's SHA3-256.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace berth::crypto {

Bytes keccak256(std::string_view data);  // 32 bytes

}  // namespace berth::crypto
