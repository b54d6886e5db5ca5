// What an offer promises of a machine's disk, against what the machine's test found free there.
#pragma once

#include <cstdint>
#include <optional>

namespace berth::offers {

inline constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

// What has not been measured contradicts nothing.
constexpr bool has_disk_for(std::int64_t included_gib, std::optional<std::int64_t> disk_bytes) {
    return !disk_bytes || included_gib <= *disk_bytes / gibibyte;
}

}  // namespace berth::offers
