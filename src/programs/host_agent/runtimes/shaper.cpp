#include "host_agent/runtimes/shaper.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

// As much at once as comes in a hundredth of a second: with less a fast queue is never full speed.
std::vector<std::string> queue_of(const std::string& device, std::int64_t mbit) {
    const std::int64_t burst_kb = std::max<std::int64_t>(64, bytes_per_second(mbit) / 100 / 1024);
    return {"tc",
            "qdisc",
            "replace",
            "dev",
            device,
            "root",
            "tbf",
            "rate",
            fmt::format("{}mbit", mbit),
            "burst",
            fmt::format("{}kb", burst_kb),
            "latency",
            "400ms"};
}

}  // namespace

void slow_down(pid_t pid, std::int64_t mbit) {
    std::vector<std::string> words{"nsenter", fmt::format("--net=/proc/{}/ns/net", pid)};
    for (std::string& word : queue_of("eth0", mbit)) words.push_back(std::move(word));
    run_tool_or_throw({.arguments = std::move(words)});
}

void slow_down_bridge(const std::string& bridge, std::int64_t mbit) {
    run_tool_or_throw({.arguments = queue_of(bridge, mbit)});
}

}  // namespace berth::host_agent
