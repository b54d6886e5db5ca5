#include "host_agent/runtimes/container_network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "crypto/hash.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

constexpr std::uint32_t addresses_each = 8;  // a /29
constexpr std::uint32_t networks_max = 65536 / addresses_each;

std::string text_of(std::uint32_t address) {
    in_addr raw{htonl(address)};
    char text[INET_ADDRSTRLEN];
    return ::inet_ntop(AF_INET, &raw, text, sizeof text);
}

JobNetwork network_of(JobId job, std::uint32_t first) {
    const std::string id = to_string(job);
    // The kernel allows 15 letters.
    return {.name = "berth-" + id,
            .bridge = "berth-" + id.substr(id.size() - 8),
            .subnet = text_of(first) + "/29",
            .gateway = text_of(first + 1),
            .address = text_of(first + 2)};
}

std::optional<std::uint32_t> first_address(const std::string& file) {
    const std::string text = read_host_file(file);
    constexpr std::string_view label = "\"subnet\":\"";
    const std::size_t at = text.find(label);
    if (at == std::string::npos) return {};
    const std::size_t from = at + label.size();
    const std::string address = text.substr(from, text.find('/', from) - from);
    in_addr raw{};
    if (::inet_pton(AF_INET, address.c_str(), &raw) != 1) return {};
    return ntohl(raw.s_addr);
}

struct OwnNetwork {
    std::uint32_t first = 0;
    std::uint32_t mask = 0;
    std::uint32_t last() const { return first | ~mask; }
};

// Where the host is already.
std::vector<OwnNetwork> own_networks() {
    std::vector<OwnNetwork> all;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) throw std::runtime_error("cannot ask for the host's addresses");
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || each->ifa_netmask == nullptr ||
            each->ifa_addr->sa_family != AF_INET)
            continue;
        const auto number = [](const sockaddr* address) {
            return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
        };
        const std::uint32_t mask = number(each->ifa_netmask);
        all.push_back({.first = number(each->ifa_addr) & mask, .mask = mask});
    }
    ::freeifaddrs(list);
    return all;
}

}  // namespace

std::vector<std::string> neighbour_networks() {
    std::set<std::string> all;
    for (const OwnNetwork& network : own_networks())
        // A mask of nothing would close the internet.
        if (const int bits = std::popcount(network.mask); bits > 0)
            all.insert(fmt::format("{}/{}", text_of(network.first), bits));
    return {all.begin(), all.end()};
}

ContainerNetworks::ContainerNetworks(std::string folder, std::string pool)
    : folder_(std::move(folder)), pool_(std::move(pool)) {}

std::string ContainerNetworks::file_of(JobId job) const {
    return fmt::format("{}/berth-{}.json", folder_, to_string(job));
}

std::optional<JobNetwork> ContainerNetworks::find(JobId job) const {
    const auto first = first_address(file_of(job));
    if (!first) return {};
    return network_of(job, *first);
}

// podman 4.3 has no option for the name of the bridge, which the guard must know before there is
// one: so the file that `podman network create` would write is written here.
JobNetwork ContainerNetworks::make(JobId job) {
    if (const auto known = find(job)) return *known;
    std::filesystem::create_directories(folder_);
    std::set<std::uint32_t> taken;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
        if (const auto first = first_address(file.path())) taken.insert(*first);
    const auto own = own_networks();
    const auto is_free = [&](std::uint32_t first) {
        for (const OwnNetwork& each : own)
            if (first <= each.last() && each.first <= first + addresses_each - 1) return false;
        return !taken.contains(first);
    };
    in_addr raw{};
    if (::inet_pton(AF_INET, (pool_ + ".0.0").c_str(), &raw) != 1)
        throw std::runtime_error("the pool of addresses must be two numbers, as in 10.213");
    std::uint32_t first = ntohl(raw.s_addr);
    const std::uint32_t end = first + networks_max * addresses_each;
    while (first != end && !is_free(first)) first += addresses_each;
    if (first == end) throw std::runtime_error("no addresses for another network are left");

    const JobNetwork network = network_of(job, first);
    std::ofstream out(file_of(job));
    out << fmt::format(
        R"({{"name":"{0}","id":"{1}","driver":"bridge","network_interface":"{2}",)"
        R"("created":"2026-01-01T00:00:00Z","subnets":[{{"subnet":"{3}","gateway":"{4}"}}],)"
        R"("ipv6_enabled":false,"internal":false,"dns_enabled":true,)"
        R"("ipam_options":{{"driver":"host-local"}}}})",
        network.name, to_hex(crypto::sha256(network.name)), network.bridge, network.subnet,
        network.gateway);
    out.close();
    if (!out) throw std::runtime_error("cannot write " + file_of(job));
    return network;
}

void ContainerNetworks::remove(JobId job) {
    const std::string bridge = network_of(job, 0).bridge;
    const std::string device = "/sys/class/net/" + bridge;
    if (std::filesystem::exists(device)) run_tool({.arguments = {"ip", "link", "delete", bridge}});
    if (std::filesystem::exists(device))
        throw std::runtime_error("the bridge of the job is still there");
    std::filesystem::remove(file_of(job));
}

}  // namespace berth::host_agent
