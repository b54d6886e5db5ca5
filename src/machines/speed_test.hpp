// Bytes to measure the way to a machine with.
#pragma once

#include <memory>

#include "http/source.hpp"

namespace berth::machines {

// Sends so many bytes that cannot be compressed, as fast as the client takes them.
std::shared_ptr<http::Source> noise(std::int64_t bytes, std::uint64_t seed);

}  // namespace berth::machines
