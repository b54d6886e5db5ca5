// What several commands need of a machine that is enrolled.
#pragma once

#include "agent_protocol/standing.hpp"
#include "host_agent/core/link.hpp"

namespace berth::host_agent {

bool holds_machine(const StateFolder& state);
// Throws std::invalid_argument with a sentence when the folder holds no machine.
Identity enrolled_identity(const StateFolder& state);

// The server may know the other of two keys alone.
http::Response send_by_either_key(Link& link, Identity& identity, const Call& call);

// How the machine stands by the server's word, or why that is not known.
struct ToldStanding {
    std::optional<agent_protocol::MachineStanding> standing;
    std::string trouble;
};
inline constexpr const char* standing_target = "/api/v1/host-agent/standing";
ToldStanding read_standing(const http::Response& response);
// By the agent, where one runs; else by a request of our own.
ToldStanding ask_standing(const StateFolder& state);

}  // namespace berth::host_agent
