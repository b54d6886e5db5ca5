// The keys the service signs with, one file each in the folder of --secrets. A key that is missing
// is made once; a file that others may read is refused.
#pragma once

#include <optional>
#include <string>

#include "base/random.hpp"

namespace berth::server {

inline constexpr std::size_t secret_bytes = 32;

// Throws BadSettings with one sentence when the folder or file cannot be used.
Bytes load_secret(const std::string& folder, const std::string& name, Random& random);
// A key that only the operator can bring; empty when it is not there.
std::optional<Bytes> find_secret(const std::string& folder, const std::string& name);

}  // namespace berth::server
