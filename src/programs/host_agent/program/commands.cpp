#include "host_agent/program/commands.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "agent_protocol/hashes.hpp"
#include "base/enum_names.hpp"
#include "base/log.hpp"
#include "base/log_mark.hpp"
#include "base/version.hpp"
#include "gpu/offered.hpp"
#include "host_agent/core/ports.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/program/agent.hpp"
#include "host_agent/program/enrolled.hpp"
#include "host_agent/program/equipment.hpp"
#include "host_agent/program/settings_of.hpp"
#include "host_agent/program/slots.hpp"
#include "host_agent/program/supervisor.hpp"

namespace berth::host_agent {
namespace {

constexpr const char* token_variable = "BERTH_ENROLL_TOKEN";

// Never an argument: those are for everybody to read.
std::string read_token(const Options& options) {
    std::string token;
    if (options.token_file.empty()) {
        if (const char* given = std::getenv(token_variable)) token = given;
    }
    if (token.empty() && !options.token_file.empty() && options.token_file != "-") {
        std::ifstream file(options.token_file);
        if (!std::getline(file, token))
            throw std::invalid_argument(options.token_file + ": has no token");
    }
    if (token.empty()) std::getline(std::cin, token);
    if (token.empty())
        throw std::invalid_argument(
            fmt::format("there is no token: give it with --token-file, in {}, or on standard input",
                        token_variable));
    return token;
}

void settle_public_host(Settings& settings, const std::string& server) {
    if (settings.public_host.empty() && is_loopback_address(server))
        settings.public_host = "127.0.0.1";
}

std::unique_ptr<BootClock> clock_of(const Options& options, const std::string& server) {
    if (options.clock_file.empty()) return std::make_unique<SystemBootClock>();
    if (!is_loopback_address(server))
        throw std::invalid_argument("--clock-file: is for a simulated server on this very host");
    return std::make_unique<SharedBootClock>(options.clock_file);
}

agent_protocol::Enroll enrollment(const Identity& identity, const std::string& token,
                                  const agent_protocol::Manifest& manifest) {
    agent_protocol::Enroll request;
    request.token.value = token;
    request.public_key.value = agent_protocol::key_text(key_of(identity.seed).public_key());
    request.protocol_version.value = agent_protocol::protocol_version;
    request.agent_version.value = project_version;
    request.manifest = manifest;
    request.manifest_hash.value = agent_protocol::manifest_hash(manifest);
    request.boot_id.value = SystemBootClock().boot_id();
    return request;
}

// A name that is nobody's is a slip, and is told before it costs a token.
void check_offered(const gpu::Inventory& inventory, const Settings& settings) {
    const auto wrong = gpu::wrong_names(inventory, gpu::parse_names(settings.gpus.value_or("")));
    if (!wrong.empty()) throw std::invalid_argument("--gpus: " + wrong.front());
    for (const gpu::LeftOut& card : inventory.left_out)
        fmt::print("left out: {} {}: {}\n", card.pci_address, card.model, card.why);
}

// It does little at once and is there for weeks: threads share one heap, and what was needed
// once, as for the machine test, is given back.
void keep_memory_small() {
    constexpr int large_bytes = 256 * 1024;
    ::mallopt(M_ARENA_MAX, 1);
    ::mallopt(M_MMAP_THRESHOLD, large_bytes);
}

}  // namespace

Settings settings_of(const Options& options, Settings settings) {
    const auto take = [](const std::optional<std::string>& given, std::string& into) {
        if (given) into = *given;
    };
    take(options.mode, settings.mode);
    take(options.public_host, settings.public_host);
    take(options.runtime, settings.runtime);
    take(options.simulate_gpu, settings.simulate_gpu);
    take(options.engines, settings.engines);
    take(options.ca_file, settings.ca_file);
    if (options.gpus) settings.gpus = options.gpus;
    if (options.driver_root) settings.driver_root = options.driver_root;
    if (options.allow_registry) settings.allow_registry = options.allow_registry;
    if (options.gate) settings.gate = parse_enum<agent_protocol::GateWish>(*options.gate);
    if (options.gate_tls) settings.gate_tls = true;
    if (options.share) settings.share = options.share;
    if (options.store_gib) settings.store_gib.emplace().value = *options.store_gib;
    if (options.ports) {
        settings.port_first.value = options.ports->first;
        settings.port_last.value = options.ports->last;
    }
    if (!parse_enum<agent_protocol::HostMode>(settings.mode))
        throw std::invalid_argument("--mode: must be dedicated, idle or colisted");
    if (settings.share && settings.runtime != "podman" && settings.simulate_gpu.empty())
        throw std::invalid_argument(
            "--runtime: slots are held to their shares in containers alone, by podman");
    return settings;
}

int enroll(const Options& options) {
    check_server_address(options.server);
    StateFolder state(options.state);
    state.lock();
    // A key that was made for an enrollment whose answer was lost is used again, so that the same
    // token gives the same answer.
    Identity identity = state.identity().value_or(Identity{});
    if (identity.machine_id)
        throw std::invalid_argument(
            fmt::format("{} is enrolled already, as {}; `berth-agent leave` ends that",
                        state.folder(), to_string(*identity.machine_id)));
    const std::string token = read_token(options);
    if (identity.seed.empty()) identity.seed = to_hex(SystemRandom().bytes(crypto::Secret::size));
    identity.server = options.server;
    while (identity.server.ends_with('/')) identity.server.pop_back();
    identity.settings = settings_of(options, identity.settings);
    settle_public_host(identity.settings, identity.server);
    state.save(identity);

    Equipment equipment(state, identity.settings);
    check_offered(equipment.gpus().inventory(), identity.settings);
    const auto manifest = make_manifest(equipment.gpus(), equipment.runtime(), identity.settings);
    http::CurlClient client;
    http::Outbound request{.method = "POST",
                           .url = identity.server + "/api/v1/host-agent/enroll",
                           .body = wire::encode(enrollment(identity, token, manifest)),
                           .ca_file = identity.settings.ca_file};
    request.headers.add("User-Agent", user_agent("berth-agent"));
    request.headers.add("Content-Type", "application/json");
    const http::Response response = client.send(request);
    const auto answer = agent_protocol::read_enrolled(response.body);
    if (response.status != 201 || !answer)
        throw std::runtime_error(
            fmt::format("the server refused ({}): {}", response.status, response.body));
    if (!agent_protocol::parse_key(answer->server_public_key))
        throw std::runtime_error("the server's key cannot be read");
    SharedCounters counters(state.counters_path());
    counters.take_fence(answer->fence.value);
    identity.machine_id = answer->machine_id;
    identity.server_key_id = answer->server_key_id;
    identity.server_public_key = answer->server_public_key;
    identity.heartbeat_s = answer->heartbeat_s;
    state.save(identity);
    fmt::print("enrolled as machine {}\n", to_string(*identity.machine_id));
    if (!identity.settings.simulate_gpu.empty())
        fmt::print("its GPU is simulated: {}\n", identity.settings.simulate_gpu);
    return 0;
}

namespace {

// What the next rental begins with, and keeps. Each tells it before it looks what others have, so
// that of two that start at once one sees the other at least.
void keep_share(const StateFolder& state, Identity& identity, const Settings& settings,
                const Options& options) {
    if (!settings.share || !JobRecords(state).all().empty()) return;
    identity.settings.share = settings.share;
    identity.settings.gpus = settings.gpus;
    identity.settings.port_first = settings.port_first;
    identity.settings.port_last = settings.port_last;
    state.save(identity);
    if (!options.computer.empty()) refuse_held(options);
}

int run_machine(const Options& options) {
    if (options.share) mark_log("slot", options.share->slot);
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT}) sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);

    StateFolder state(options.state);
    state.lock();
    Identity identity = enrolled_identity(state);
    Settings settings = settings_of(options, identity.settings);
    settle_public_host(settings, identity.server);
    keep_share(state, identity, settings, options);
    Equipment equipment(state, settings);
    const std::unique_ptr<BootClock> clock = clock_of(options, identity.server);
    http::CurlClient client;
    const OwnersPolicy policy(options.policy);
    policy.now();  // one that cannot be read is told at once
    for (const std::string& trouble : equipment.runtime().troubles())
        log(Level::warn, "host_trouble", {{"what", trouble}});
    for (const gpu::LeftOut& card : equipment.gpus().inventory().left_out)
        log(Level::warn, "gpu_left_out",
            {{"pci_address", card.pci_address}, {"model", card.model}, {"why", card.why}});
    // Never destroyed: its threads go on until the process ends.
    auto* const agent = new Agent({.state = state,
                                   .identity = identity,
                                   .settings = settings,
                                   .runtime = equipment.runtime(),
                                   .front = equipment.front(),
                                   .gate_front = equipment.gate_front(),
                                   .gpus = equipment.gpus(),
                                   .clock = *clock,
                                   .clock_jumps = !options.clock_file.empty(),
                                   .client = client,
                                   .policy = policy});
    agent->start();
    log(Level::info, "agent_runs",
        {{"machine_id", to_string(*identity.machine_id)},
         {"server", identity.server},
         {"simulated", !settings.simulate_gpu.empty()}});
    int number = 0;
    sigwait(&set, &number);
    // All that matters is on disk; workloads run on and are taken up again.
    log(Level::info, "agent_ends", {{"why", "it was told to"}});
    std::_Exit(0);
}

}  // namespace

namespace {

// What was enrolled whole goes on as that. A file that cannot be read keeps no rental without its
// agent: those that there are go on, and the owner reads why no other does.
bool is_in_slots(const Options& options) {
    std::error_code unreadable;
    const bool has_file = std::filesystem::exists(options.state + "/slots.json", unreadable);
    if (holds_machine(StateFolder(options.state))) {
        if (has_file)
            log(Level::error, "slots_file",
                {{"why", "the computer is enrolled whole, and goes on as one machine"}});
        return false;
    }
    try {
        if (find_slots(options.state)) return true;
    } catch (const std::invalid_argument&) {
        if (rented_slots(options.state).empty()) throw;
        return true;
    }
    return !rented_slots(options.state).empty();
}

}  // namespace

int run(const Options& options) {
    keep_memory_small();
    if (options.slot.empty() && is_in_slots(options)) return supervise(options);
    const bool is_whole = options.slot.empty() && holds_machine(StateFolder(options.state));
    return run_machine(is_whole ? options : in_slot(options, Use::run));
}

int preempt(const Options& options) {
    const StateFolder state(options.state);
    const auto answer = ask_agent(state.control_path(), "preempt " + options.reason);
    if (!answer) throw std::runtime_error("the agent does not run; start it first");
    fmt::print("{}", *answer);
    return answer->starts_with("notice given") ? 0 : 1;
}

// For an agent whose fence and the server's are too far apart, as after a server that was damaged
// or lied, or whose counters were. What the machine is, and its key, stay as they are.
int mend_fence(const Options& options) {
    StateFolder state(options.state);
    state.lock();
    Identity identity = enrolled_identity(state);
    const SystemBootClock clock;
    http::CurlClient client;
    Link link(client, clock, identity);
    const http::Response response = send_by_either_key(
        link, identity, {.method = "GET", .target = "/api/v1/host-agent/commands?wait_s=0"});
    const auto orders = response.status == 200 ? agent_protocol::read_orders(response.body)
                                               : std::optional<agent_protocol::AgentOrders>();
    if (!orders)
        throw std::runtime_error(
            fmt::format("the server refused ({}): {}", response.status, response.body));
    agent_protocol::mend_fence(state.counters_path(), orders->fence);
    fmt::print("the fence is {}, as the server says; start the agent again\n", orders->fence);
    return 0;
}

}  // namespace berth::host_agent
