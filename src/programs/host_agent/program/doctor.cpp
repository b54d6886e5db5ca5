// What is missing on this host, and how to mend it, before anything is enrolled.
#include <fmt/format.h>

#include "host_agent/core/host.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/ports.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/program/equipment.hpp"

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

void look_at_host(Findings& findings, const std::string& folder) {
    const auto disk = disk_space(folder);
    findings.tell(
        disk && disk->free_bytes >= disk_bytes_min,
        fmt::format("{} GB of disk are free", disk ? disk->free_bytes / 1'000'000'000 : 0),
        fmt::format("Free at least 20 GB on the disk of {}.", folder));
    const auto ram = ram_bytes();
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

}  // namespace

int doctor(const Options& options) {
    const StateFolder state(options.state);
    Settings settings;
    if (const auto identity = state.identity()) settings = identity->settings;
    if (options.runtime) settings.runtime = *options.runtime;
    if (options.simulate_gpu) settings.simulate_gpu = *options.simulate_gpu;
    if (options.engines) settings.engines = *options.engines;
    if (options.public_host) settings.public_host = *options.public_host;
    if (options.gpus) settings.gpus = options.gpus;
    if (options.driver_root) settings.driver_root = options.driver_root;
    if (options.ports) {
        settings.port_first.value = options.ports->first;
        settings.port_last.value = options.ports->last;
    }
    Equipment equipment(state, settings);
    Findings findings;
    look_at_cards(findings, equipment.gpus());
    look_at_host(findings, state.folder());
    const auto troubles = equipment.runtime().troubles();
    findings.tell(troubles.empty(), fmt::format("the runtime {}", settings.runtime),
                  troubles.empty() ? "" : troubles.front());
    for (std::size_t i = 1; i < troubles.size(); ++i)
        findings.tell(false, "the runtime", troubles[i]);
    findings.tell(
        find_port(settings.port_first.value, settings.port_last.value, {}).has_value(),
        fmt::format("ports {} to {}", settings.port_first.value, settings.port_last.value),
        "All of them are in use: choose others with --ports.");
    look_at_policy(findings, options.policy);
    if (!options.server.empty())
        look_at_server(findings, options.server, options.ca_file.value_or(""));
    const bool reachable = !settings.public_host.empty() ||
                           (!options.server.empty() && is_loopback_address(options.server));
    findings.tell(reachable,
                  reachable ? fmt::format("jobs are reached under {}", settings.public_host)
                            : "no public host",
                  "Give the name or address under which the ports are reached from outside: "
                  "--public-host.");
    return findings.all_good() ? 0 : 1;
}

}  // namespace berth::host_agent
