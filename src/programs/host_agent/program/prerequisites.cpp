#include "host_agent/program/prerequisites.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

constexpr const char* pci_devices = "/sys/bus/pci/devices";

std::string said_by(std::vector<std::string> words) {
    return run_tool({.arguments = std::move(words)}).output;
}

// The chain by which nftables drops what nobody allowed: "inet filter input"; empty: there is none.
// Tables of ufw, firewalld and ours are of others to speak for.
std::string dropping_chain() {
    std::istringstream lines(said_by({"nft", "list", "ruleset"}));
    std::string table;
    std::string chain;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first;
        std::string second;
        std::string third;
        words >> first >> second >> third;
        if (first == "table") table = second + " " + third;
        if (first == "chain") chain = second;
        if (line.find("hook input") != std::string::npos &&
            line.find("policy drop") != std::string::npos)
            return table + " " + chain;
    }
    return "";
}

}  // namespace

bool has_card_of_nvidia() {
    std::error_code none;
    for (const auto& device : files::directory_iterator(pci_devices, none)) {
        const std::string vendor = read_host_file(device.path() / "vendor");
        const std::string kind = read_host_file(device.path() / "class");
        if (vendor.starts_with("0x10de") && kind.starts_with("0x03")) return true;
    }
    return false;
}

// Ubuntu has a package for each version: this is the one that knows every card that can be rented
// out, from those of compute capability 6.1 on.
std::vector<std::string> driver_packages(const std::string& system) {
    const bool is_ubuntu = ("\n" + system).find("\nID=ubuntu\n") != std::string::npos;
    return {is_ubuntu ? "nvidia-driver-580-server" : "nvidia-driver", "nvidia-modprobe"};
}

Firewall find_firewall(std::int64_t port_first, std::int64_t port_last) {
    // What is not installed says nothing.
    if (const std::string status = said_by({"ufw", "status"});
        status.find("Status: active") != std::string::npos) {
        const std::string ports = fmt::format("{}:{}/tcp", port_first, port_last);
        if (status.find(ports) != std::string::npos)
            return {fmt::format("the firewall is ufw, and allows {}", ports), ""};
        return {"the firewall is ufw", "ufw allow " + ports};
    }
    if (run_tool({.arguments = {"firewall-cmd", "--state"}}).good()) {
        const std::string ports = fmt::format("{}-{}/tcp", port_first, port_last);
        if (run_tool({.arguments = {"firewall-cmd", "--query-port=" + ports}}).good())
            return {fmt::format("the firewall is firewalld, and allows {}", ports), ""};
        return {
            "the firewall is firewalld",
            fmt::format("firewall-cmd --permanent --add-port={} && firewall-cmd --reload", ports)};
    }
    if (const std::string chain = dropping_chain(); !chain.empty())
        return {fmt::format("nftables drops what is not allowed (chain {})", chain),
                fmt::format("nft insert rule {} tcp dport {}-{} accept (and in /etc/nftables.conf)",
                            chain, port_first, port_last)};
    return {"no firewall of this host drops what comes in", ""};
}

}  // namespace berth::host_agent
