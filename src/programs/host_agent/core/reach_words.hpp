// How this host is reached, for its owner.
#pragma once

#include <optional>
#include <string>

#include "agent_protocol/reach.hpp"

namespace berth::host_agent {

inline std::string in_words(agent_protocol::Reach reach, const std::optional<std::string>& why) {
    std::string text = reach == agent_protocol::Reach::gate ? "jobs are reached by a gate"
                                                            : "jobs are reached at its own ports";
    if (why) text += ": " + *why;
    return text;
}

}  // namespace berth::host_agent
