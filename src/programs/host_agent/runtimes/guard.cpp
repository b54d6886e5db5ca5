#include "host_agent/runtimes/guard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

std::string table_of(JobId job) {
    std::string name = "berth_" + to_string(job);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// Neighbours of the host, of its provider (168.63.129.16 is one's own) and of nobody. A job has no
// IPv6.
constexpr std::string_view closed_addresses =
    "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 168.63.129.16, 169.254.0.0/16, "
    "172.16.0.0/12, 192.0.0.0/24, 192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/3";

constexpr std::int64_t burst_bytes = 64 * 1024;

// What comes too fast is dropped, and TCP sends it again.
std::string bound(std::int64_t bytes_per_second) {
    if (bytes_per_second == 0) return "";
    return fmt::format("limit rate over {} bytes/second burst {} bytes drop", bytes_per_second,
                       std::max(burst_bytes, bytes_per_second / 100));
}

// A rule for what passes by the ports of the host; none where there are no ports.
std::string by_ports(const GuardedNetwork& network, std::string_view port, std::string_view device,
                     std::string_view verdict) {
    if (network.host_ports.empty()) return "";
    return fmt::format("tcp {} {{ {} }} {} {}\"lo\" {}", port, fmt::join(network.host_ports, ", "),
                       device, network.leaves_by_loopback ? "" : "!= ", verdict);
}

// A chain with nothing but another bound.
std::string bound_anew(const std::string& table, std::string_view chain,
                       std::int64_t bytes_per_second) {
    return fmt::format(
        R"(add chain inet {0} {1}
flush chain inet {0} {1}
add rule inet {0} {1} {2}
)",
        table, chain, bound(bytes_per_second));
}

std::string closed_to(const GuardedNetwork& network) {
    std::string closed(closed_addresses);
    for (const std::string& neighbours : network.neighbours) closed += ", " + neighbours;
    return closed;
}

// Who on the host may begin conversations with the job.
std::string users_of(const GuardedNetwork& network) {
    std::vector<uid_t> users = network.host_users;
    users.push_back(0);
    return fmt::format("{}", fmt::join(users, ", "));
}

void tell_kernel(std::string rules) {
    run_tool_or_throw({.arguments = {"nft", "-f", "-"}, .input = std::move(rules)});
}

}  // namespace

// What a job sends to the host in a conversation that the host began is an answer, which the agent
// passes on to the world: it counts as leaving; so does what it asks of names, which can carry
// anything. What comes by the ports of the host is bounded within conversations alone, so that a
// stranger who begins none cannot keep the renter out. The delete would fail without a table. A
// reset is always heard at once; other refusals the kernel sends once a second. What comes too fast
// is dropped: whoever asks again a second later gets through. Mail to strangers is what abuse desks
// close a host's line for.
std::string guard_rules(const std::string& table, const GuardedNetwork& network) {
    return fmt::format(
        R"(add table inet {table}
delete table inet {table}
table inet {table} {{
  counter egress {{ }}
  limit new_connections {{ rate over {new_per_second}/second burst {new_at_once} packets }}
  limit asking {{ rate over {asking_per_second}/second burst {asking_at_once} packets }}
  set closed {{
    type ipv4_addr; flags interval; auto-merge;
    elements = {{ {closed} }}
  }}
  chain refuse {{
    meta l4proto tcp reject with tcp reset
    reject
  }}
  chain names {{
    limit name asking drop
    ct state new limit name new_connections drop
    counter name egress accept
  }}
  chain entering {{
    {bound}
  }}
  chain leaving {{
    {bound}
    counter name egress
  }}
  chain to_host {{
    type filter hook input priority -10; policy accept;
    {entering}
    iifname != "{bridge}" return
    ip daddr {gateway} meta l4proto {{ tcp, udp }} th dport 53 jump names
    ct state established,related counter name egress accept
    jump refuse
  }}
  chain through {{
    type filter hook forward priority -10; policy accept;
    oifname "{bridge}" ct state established,related accept
    oifname "{bridge}" drop
    iifname != "{bridge}" return
    meta nfproto != ipv4 drop
    ip saddr != {subnet} drop
    ip daddr @closed jump refuse
    tcp dport 25 jump refuse
    ct state new limit name new_connections drop
    ct state new ct count over {open} jump refuse
    counter name egress
  }}
  chain from_host {{
    type filter hook output priority -10; policy accept;
    ip daddr {subnet} meta skuid != {{ {users} }} meta l4proto tcp reject with tcp reset
    ip daddr {subnet} meta skuid != {{ {users} }} reject
    {leaving}
  }}
}}
)",
        fmt::arg("table", table), fmt::arg("bridge", network.bridge),
        fmt::arg("gateway", network.gateway), fmt::arg("subnet", network.subnet),
        fmt::arg("closed", closed_to(network)),
        fmt::arg("leaving", by_ports(network, "sport", "oifname", "jump leaving")),
        fmt::arg("entering",
                 by_ports(network, "dport", "iifname", "ct state established jump entering")),
        fmt::arg("bound", bound(network.passing_max)), fmt::arg("users", users_of(network)),
        fmt::arg("open", network.connections.open_max),
        fmt::arg("new_per_second", network.connections.new_per_second_max),
        fmt::arg("new_at_once", network.connections.new_at_once_max),
        fmt::arg("asking_per_second", network.connections.asking_per_second_max),
        fmt::arg("asking_at_once", network.connections.asking_at_once_max));
}

Guard::Guard(JobId job) : table_(table_of(job)) {}

void Guard::put(const GuardedNetwork& network) { tell_kernel(guard_rules(table_, network)); }

void Guard::remove() {
    tell_kernel(fmt::format("add table inet {0}\ndelete table inet {0}\n", table_));
}

// What is dropped TCP sends again, and is counted when it leaves.
void Guard::slow_down(std::int64_t bytes_per_second) {
    tell_kernel(bound_anew(table_, "leaving", bytes_per_second) +
                fmt::format("add rule inet {} leaving counter name egress\n", table_));
}

void Guard::keep_to(std::int64_t bytes_per_second) {
    slow_down(bytes_per_second);
    tell_kernel(bound_anew(table_, "entering", bytes_per_second));
}

std::optional<std::int64_t> Guard::egress_bytes() const {
    const ToolOutcome outcome =
        run_tool({.arguments = {"nft", "list", "counter", "inet", table_, "egress"}});
    if (!outcome.good()) return {};
    constexpr std::string_view label = " bytes ";
    const std::size_t place = outcome.output.find(label);
    std::int64_t bytes = 0;
    if (place == std::string::npos) return {};
    const char* const from = outcome.output.data() + place + label.size();
    const char* const to = outcome.output.data() + outcome.output.size();
    if (std::from_chars(from, to, bytes).ec != std::errc()) return {};
    return bytes;
}

}  // namespace berth::host_agent
