// Files that an agent must find again after kill -9 and after the power went: written beside,
// synced, renamed over the old one, and the folder synced. Afterwards it is the old one or the new
// one, never half of either.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth::agent_protocol {

// A file of the agent's state is damaged, cannot be read or cannot be written.
class StateLost : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Mode 0600. Durable once it returns.
void write_durably(const std::string& path, std::string_view text);
// Empty when there is no such file.
std::optional<std::string> read_durable(const std::string& path);
void sync_folder(const std::string& folder);

}  // namespace berth::agent_protocol
