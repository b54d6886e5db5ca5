// A look at a gate from this host, for `berth-agent doctor`: whether both of its ports are reached,
// and what a renter's SSH would feel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "http/client.hpp"

namespace berth::host_agent {

struct GateTrial {
    std::string host;
    std::int64_t link_port = 0;
    std::int64_t call_port = 0;
    std::string link_trouble;            // empty: it is reached, and has the key that it should
    std::string call_trouble;            // empty: a banner of SSH came through
    std::optional<Duration> round_trip;  // of a few bytes there and back
};

// The gates that the server names as live. Throws http::TransportError, and std::runtime_error when
// the server's answer is not to be understood.
std::vector<GateTrial> try_gates(http::Client& client, const std::string& server,
                                 const std::string& ca_file);

}  // namespace berth::host_agent
