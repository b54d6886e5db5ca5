// What the command line of berth-agent says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace berth::agent {

struct Ports {
    std::int64_t first = 40000;
    std::int64_t last = 40099;
};

struct Options {
    std::string state = "/var/lib/berth-agent";
    std::string server;           // of enroll
    std::string token_file;       // "-": standard input
    std::string mode = "dedicated";
    std::string public_host;      // empty: nothing is announced
    Ports ports;
    std::string runtime = "podman";
    std::string simulate_gpu;     // a model; empty: the real ones
    std::string engines;          // table of the process runtime; empty: the built-in engine alone
    std::string reason;           // of preempt
};

// "40000-40099"; empty for anything else, and for fewer than two ports.
std::optional<Ports> parse_ports(const std::string& text);

}  // namespace berth::agent
