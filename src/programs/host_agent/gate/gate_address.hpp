// A gate as it is dialled: all that goes to it, links and calls, goes to one address.
#pragma once

#include <cstdint>
#include <string>

#include "agent_protocol/gate.hpp"
#include "http/address.hpp"

namespace berth::host_agent {

struct GateAddress {
    agent_protocol::GateId id;
    std::string host;  // as the server named it
    http::Address address;
    std::uint16_t link_port = 0;  // TLS
    std::uint16_t call_port = 0;  // plain
    std::string key_sha256;       // 32 bytes: its TLS key, which alone is trusted

    friend bool operator==(const GateAddress&, const GateAddress&) = default;
};

// For the address of a request: an IPv6 address stands in brackets there.
inline std::string url_host(const std::string& host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace berth::host_agent
