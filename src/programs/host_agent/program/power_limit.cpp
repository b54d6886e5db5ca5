#include "host_agent/program/power_limit.hpp"

#include <fmt/format.h>

#include "host_agent/core/tool.hpp"

namespace berth::host_agent {

std::optional<std::string> limit_power(const std::vector<GpuName>& cards, std::int64_t watts) {
    for (const GpuName& card : cards) {
        const std::string& name = card.uuid.empty() ? card.pci_address : card.uuid;
        const ToolOutcome outcome = run_tool(
            {.arguments = {"nvidia-smi", "--id=" + name, fmt::format("--power-limit={}", watts)}});
        if (!outcome.good())
            return fmt::format("The owner's power limit of {} W cannot be put on {}: {}.", watts,
                               card.pci_address, outcome.why());
    }
    return std::nullopt;
}

}  // namespace berth::host_agent
