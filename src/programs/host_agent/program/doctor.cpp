// What is missing on this host, and how to mend it, before anything is enrolled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent_protocol/commands.hpp"
#include "base/enum_names.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/ports.hpp"
#include "host_agent/core/reach_words.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/gate/gate_trial.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/program/equipment.hpp"
#include "host_agent/program/prerequisites.hpp"
#include "host_agent/runtimes/container.hpp"

namespace berth::host_agent {
namespace {

constexpr std::int64_t disk_bytes_min = 20'000'000'000;
constexpr std::int64_t ram_bytes_min = 4'000'000'000;

class Findings {
public:
    void tell(bool good, const std::string& what, const std::string& remedy) {
        fmt::print("{} {}\n", good ? "ok  " : "BAD ", what);
        if (good) return;
        fmt::print("     {}\n", remedy);
        all_good_ = false;
    }
    void note(const std::string& what) { fmt::print("     {}\n", what); }
    bool all_good() const { return all_good_; }

private:
    bool all_good_ = true;
};

void look_at_cards(Findings& findings, gpu::Gpus& gpus) {
    const gpu::Inventory inventory = gpus.inventory();
    findings.tell(!inventory.gpus.empty(), fmt::format("{} GPUs", inventory.gpus.size()),
                  "Install the GPU's driver, and see that this user may use it.");
    for (const auto& card : inventory.gpus)
        findings.tell(card.model.value.has_value(),
                      fmt::format("{} {}", card.pci_address.value,
                                  card.model.value ? card.model.value->value : "unknown model"),
                      "The driver does not name this card: update it.");
    for (const gpu::LeftOut& card : inventory.left_out)
        findings.note(fmt::format("{} {} is left out: {}", card.pci_address, card.model, card.why));
    for (const gpu::User& user : gpus.users())
        findings.tell(false, gpu::in_words(user),
                      user.is_screen
                          ? "Connect the screen to the graphics of the processor, start the host "
                            "without a desktop (systemctl set-default multi-user.target), or leave "
                            "this GPU out with --gpus."
                          : "End it before the machine is tested.");
}

void look_at_host(Findings& findings, const std::string& folder, const Settings& settings) {
    const auto disk = disk_space(folder);
    findings.tell(
        disk && disk->free_bytes >= disk_bytes_min,
        fmt::format("{} GB of disk are free", disk ? disk->free_bytes / 1'000'000'000 : 0),
        fmt::format("Free at least 20 GB on the disk of {}.", folder));
    const auto ram = ram_bytes(settings);
    findings.tell(ram && *ram >= ram_bytes_min,
                  fmt::format("{} GB of memory", ram.value_or(0) / 1'000'000'000),
                  "A host needs at least 4 GB.");
}

void look_at_server(Findings& findings, const std::string& server, const std::string& ca_file) {
    check_server_address(server);
    http::CurlClient client;
    std::string trouble;
    try {
        const http::Response response =
            client.send({.url = server + "/healthz", .ca_file = ca_file});
        if (response.status != 200) trouble = fmt::format("it answers {}", response.status);
    } catch (const http::TransportError& error) {
        trouble = error.what();
    }
    findings.tell(trouble.empty(), fmt::format("the server {}", server),
                  fmt::format("It cannot be used: {}.", trouble));
}

// The server's word, where the machine is enrolled there.
void look_at_reach(Findings& findings, const Identity& identity) {
    const SystemBootClock clock;
    http::CurlClient client;
    try {
        Link link(client, clock, identity);
        const http::Response answer =
            link.send({.method = "GET", .target = "/api/v1/host-agent/commands?wait_s=0"});
        const auto orders = answer.status == 200 ? agent_protocol::read_orders(answer.body)
                                                 : std::optional<agent_protocol::AgentOrders>();
        if (orders && orders->reach) findings.note(in_words(*orders->reach, orders->reach_why));
    } catch (const http::TransportError& error) {
        findings.note(
            fmt::format("the server does not tell how it reaches jobs: {}", error.what()));
    }
}

// Whether some gate leads here, each tried as links and calls go. Plain calls may fail: then they
// go by TLS, where the link does.
bool look_at_gates(Findings& findings, const std::string& server, const std::string& ca_file) {
    http::CurlClient client;
    std::vector<GateTrial> trials;
    try {
        trials = try_gates(client, server, ca_file);
    } catch (const std::exception& error) {
        findings.note(fmt::format("the server's gates are not known: {}", error.what()));
        return false;
    }
    bool leads_here = false;
    for (const GateTrial& gate : trials) {
        const std::string where = fmt::format("gate {} port {}", gate.host, gate.link_port);
        if (gate.link_trouble.empty())
            findings.tell(true, where, "");
        else
            findings.note(fmt::format("{} is not reached: {}. Allow TCP from this host to it.",
                                      where, gate.link_trouble));
        leads_here = leads_here || gate.link_trouble.empty();
        if (gate.round_trip)
            findings.tell(true,
                          fmt::format("gate {} port {}: a banner of SSH came through, {:.1f} ms "
                                      "there and back",
                                      gate.host, gate.call_port,
                                      static_cast<double>(gate.round_trip->count()) / 1000),
                          "");
        else
            findings.note(fmt::format("gate {} port {} is not reached ({}): calls go by TLS",
                                      gate.host, gate.call_port, gate.call_trouble));
    }
    return leads_here;
}

void look_at_policy(Findings& findings, const std::string& path) {
    std::string trouble;
    try {
        const Policy policy = OwnersPolicy(path).now();
        if (!hours_left(policy, local_minute(SystemClock().now())).is_open)
            fmt::print("     outside of the owner's hours: no job is taken on now\n");
    } catch (const std::invalid_argument& error) {
        trouble = error.what();
    }
    findings.tell(trouble.empty(), fmt::format("the owner's policy {}", path), trouble);
}

// A card of NVIDIA's that no driver speaks for, and what containers need, in one line to be pasted.
void look_at_packages(Findings& findings, const Settings& settings, bool has_cards) {
    std::vector<std::string> packages;
    if (settings.runtime == "podman")
        packages = missing_packages();
    else if (!has_tool("bwrap"))
        packages.emplace_back("bubblewrap");
    const bool lacks_driver = !has_cards && settings.simulate_gpu.empty() && has_card_of_nvidia();
    if (lacks_driver)
        for (const std::string& package : driver_packages(read_host_file("/etc/os-release")))
            packages.push_back(package);
    if (packages.empty()) return;
    findings.tell(false, fmt::format("{} packages are missing", packages.size()),
                  fmt::format("apt install {}", fmt::join(packages, " ")));
    if (lacks_driver)
        findings.note(
            "The driver is no free software: apt finds it where its sources name contrib and "
            "non-free (Debian) or restricted and multiverse (Ubuntu). Restart the host after it.");
}

// It matters where jobs are reached at the host's own ports: a gate needs none that is open.
void look_at_firewall(Findings& findings, const Settings& settings) {
    const Firewall firewall = find_firewall(settings.port_first.value, settings.port_last.value);
    findings.note(firewall.what);
    if (!firewall.mend.empty() && !settings.public_host.empty() &&
        !is_loopback_address("http://" + settings.public_host))
        findings.note("To be reached at its own ports: " + firewall.mend);
}

Settings settings_to_examine(const Options& options, const std::optional<Identity>& identity) {
    Settings settings;
    if (identity) settings = identity->settings;
    if (options.runtime) settings.runtime = *options.runtime;
    if (options.simulate_gpu) settings.simulate_gpu = *options.simulate_gpu;
    if (options.engines) settings.engines = *options.engines;
    if (options.public_host) settings.public_host = *options.public_host;
    if (options.gpus) settings.gpus = options.gpus;
    if (options.share) settings.share = options.share;
    if (options.driver_root) settings.driver_root = options.driver_root;
    if (options.ports) {
        settings.port_first.value = options.ports->first;
        settings.port_last.value = options.ports->last;
    }
    if (options.gate) settings.gate = parse_enum<agent_protocol::GateWish>(*options.gate);
    if (options.ca_file) settings.ca_file = *options.ca_file;
    return settings;
}

// By its own ports or by a gate: one of the two is needed.
void look_at_ways(Findings& findings, const Settings& settings, const std::string& server) {
    using agent_protocol::GateWish;
    const bool by_gate = !server.empty() && settings.gate != GateWish::never &&
                         look_at_gates(findings, server, settings.ca_file);
    const bool directly =
        !settings.public_host.empty() || (!server.empty() && is_loopback_address(server));
    if (settings.gate == GateWish::always)
        return findings.tell(by_gate, "jobs are reached by a gate, as --gate always has it",
                             "No gate of the server is reached from here.");
    const std::string host = settings.public_host.empty() ? "127.0.0.1" : settings.public_host;
    const std::string told =
        directly  ? fmt::format("jobs are reached under {}{}", host,
                               by_gate ? ", or by a gate where its ports do not answer" : "")
        : by_gate ? "jobs are reached by a gate: there is no public host"
                  : "no public host, and no gate";
    findings.tell(directly || by_gate, told,
                  "Give the name or address under which the ports are reached from outside "
                  "(--public-host), or see that a gate of the server is reached from here.");
}

}  // namespace

int doctor(const Options& options) {
    const StateFolder state(options.state);
    const auto identity = state.identity();
    const Settings settings = settings_to_examine(options, identity);
    const bool is_enrolled = identity && identity->machine_id;
    const std::string server =
        options.server.empty() && is_enrolled ? identity->server : options.server;
    Equipment equipment(state, settings);
    Findings findings;
    look_at_cards(findings, equipment.gpus());
    look_at_packages(findings, settings, !equipment.gpus().inventory().gpus.empty());
    look_at_host(findings, state.folder(), settings);
    const auto troubles = equipment.runtime().troubles();
    findings.tell(troubles.empty(), fmt::format("the runtime {}", settings.runtime),
                  troubles.empty() ? "" : troubles.front());
    for (std::size_t i = 1; i < troubles.size(); ++i)
        findings.tell(false, "the runtime", troubles[i]);
    findings.tell(
        find_port(settings.port_first.value, settings.port_last.value, {}).has_value(),
        fmt::format("ports {} to {}", settings.port_first.value, settings.port_last.value),
        "All of them are in use: choose others with --ports.");
    look_at_firewall(findings, settings);
    look_at_policy(findings, options.policy);
    if (!options.server.empty())
        look_at_server(findings, options.server, options.ca_file.value_or(""));
    if (is_enrolled && server == identity->server) look_at_reach(findings, *identity);
    look_at_ways(findings, settings, server);
    return findings.all_good() ? 0 : 1;
}

}  // namespace berth::host_agent
