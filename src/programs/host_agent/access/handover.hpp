// One message with descriptors, between processes of the agent: over sockets of kind SEQPACKET.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace berth::host_agent {

inline constexpr std::size_t handed_files_max = 4;

// False when the other side is gone, or takes nothing.
[[nodiscard]] bool hand_over(int socket, std::string_view bytes, std::span<const int> files = {});

struct Handed {
    std::string bytes;
    std::vector<Descriptor> files;  // close on exec
};
// Empty when the other side is gone or said nothing within the socket's own time, and for a message
// that is longer or has more descriptors.
std::optional<Handed> take_handed(int socket, std::size_t bytes_max);

}  // namespace berth::host_agent
