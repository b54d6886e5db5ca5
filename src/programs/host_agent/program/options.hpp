// What the command line of berth-agent says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host_agent/core/policy.hpp"
#include "host_agent/core/share.hpp"

namespace berth::host_agent {

struct Ports {
    std::int64_t first = 40000;
    std::int64_t last = 40099;
};

// What was left out is as it was told at enrollment.
struct Options {
    std::string state = "/var/lib/berth-agent";
    std::string slot;      // one of several machines of this computer
    std::string computer;  // of a slot: the folder of its computer, in place of which `state` is
    std::optional<Share> share;
    std::vector<std::string> words;  // all that was typed
    std::string server;
    std::string token_file;  // "-": standard input
    std::optional<std::string> mode;
    std::optional<std::string> public_host;
    std::optional<Ports> ports;
    std::optional<std::string> runtime;
    std::optional<std::string> simulate_gpu;
    std::optional<std::string> engines;
    std::optional<std::string> ca_file;
    std::optional<std::string> gpus;
    std::optional<std::string> driver_root;
    std::optional<std::string> allow_registry;
    std::optional<std::int64_t> store_gib;
    std::optional<std::string> gate;  // auto, always or never
    bool gate_tls = false;
    std::string policy = usual_policy_file;
    std::string clock_file;    // of a simulated server; empty: time is the system's
    std::int64_t lines = 100;  // of logs
    bool follow = false;
    bool no_start = false;  // of setup: the agent is started by somebody else
    std::string reason = "the owner needs the machine";  // of preempt
};

// "40000-40099"; empty for anything else, and for fewer than two ports.
std::optional<Ports> parse_ports(const std::string& text);

}  // namespace berth::host_agent
