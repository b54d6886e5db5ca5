#include "host_agent/runtimes/shaper.hpp"

#include <fmt/format.h>

#include "host_agent/core/tool.hpp"

namespace berth::host_agent {

void slow_down(pid_t pid) {
    run_tool_or_throw(
        {.arguments = {"nsenter", fmt::format("--net=/proc/{}/ns/net", pid), "tc", "qdisc",
                       "replace", "dev", "eth0", "root", "tbf", "rate",
                       fmt::format("{}mbit", shaped_mbit), "burst", "64kb", "latency", "400ms"}});
}

}  // namespace berth::host_agent
