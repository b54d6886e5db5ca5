#include "host_agent/program/equipment.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "crypto/hash.hpp"
#include "gpu/offered.hpp"
#include "host_agent/access/front.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/listening.hpp"
#include "host_agent/runtimes/container.hpp"
#include "host_agent/runtimes/process_runtime.hpp"

namespace berth::host_agent {
namespace {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

bool is_simulated(const Settings& settings) {
    return !settings.simulate_gpu.empty() || settings.runtime == "simulated";
}

// By the bus addresses that slots name them by; a computer without slots has one.
std::vector<std::size_t> simulated_cards(const Settings& settings) {
    std::vector<std::size_t> cards;
    if (settings.share)
        for (const std::string& name : gpu::parse_names(settings.gpus.value_or("")))
            cards.push_back(gpu::simulated_card(name).value_or(0));
    return cards.empty() ? std::vector<std::size_t>{0} : cards;
}

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
// Networks of jobs that two agents make in the same moment must not be the same.
constexpr std::int64_t first_slots_pool = 220;

std::int64_t store_bytes(const std::string& folder, const Settings& settings) {
    if (settings.store_gib) return settings.store_gib->value * gibibyte;
    const auto disk = disk_space(folder);
    return disk ? disk->total_bytes / 3 : 100 * gibibyte;
}

std::int64_t floor_bytes(const std::string& folder) {
    const auto disk = disk_space(folder);
    return disk_floor(disk ? disk->total_bytes : 0);
}

std::unique_ptr<Runtime> make_runtime(const StateFolder& state, const Settings& settings) {
    if (settings.runtime == "process" || settings.runtime == "simulated") {
        ProcessRuntime::Setup setup;
        setup.jobs_folder = state.jobs_folder();
        setup.program = own_program();
        if (!settings.engines.empty()) setup.engines = read_engines(settings.engines);
        setup.has_toy = is_simulated(settings);
        setup.is_simulated = is_simulated(settings);
        return std::make_unique<ProcessRuntime>(std::move(setup));
    }
    if (settings.runtime != "podman")
        throw std::invalid_argument("--runtime: must be podman, process or simulated");
    PodmanOptions options;
    options.state = state.folder();
    options.run = run_folder(state.folder());
    options.is_simulated = is_simulated(settings);
    options.ssh_address = listen_address(settings.public_host);
    options.driver_root = settings.driver_root.value_or("");
    options.registries = parse_registries(settings.allow_registry.value_or(""));
    options.store_bytes = store_bytes(state.folder(), settings);
    options.floor_bytes = floor_bytes(state.folder());
    if (settings.share) {
        options.group.emplace(state.folder());
        options.group->make(*settings.share);
        options.network_mbit = settings.share->network_mbit.value;
        options.pool = fmt::format("10.{}", first_slots_pool + settings.share->number.value);
    }
    options.program = own_program();
    options.inside_program =
        std::filesystem::path(own_program()).replace_filename("berth-inside").string();
    return std::make_unique<PodmanRuntime>(std::move(options));
}

// Where jobs are announced to the world they are not without TLS and a key. A simulated host has no
// world.
bool announces_with_tls(const Settings& settings) {
    return settings.runtime == "podman" || !is_simulated(settings);
}

std::unique_ptr<Front> make_front(const StateFolder& state, const Settings& settings) {
    TlsFront::Options options{.address = listen_address(settings.public_host),
                              .program = own_program()};
    if (settings.share && settings.runtime == "podman")
        options.begun = [group = SlotGroup(state.folder())](pid_t process) {
            group.take_in(process);
        };
    return std::make_unique<TlsFront>(std::move(options));
}

}  // namespace

// Each state has its own: podman takes two stores that share one for the same.
std::string run_folder(const std::string& state) {
    const PodmanOptions usual;
    if (state == usual.state) return usual.run;
    return usual.run + "-" + to_hex(crypto::sha256(state)).substr(0, 8);
}

std::unique_ptr<gpu::Gpus> make_gpus(const StateFolder& state, const Settings& settings) {
    if (!settings.simulate_gpu.empty())
        return gpu::simulated_gpus(settings.simulate_gpu, simulated_cards(settings),
                                   state.folder() + "/simulated-vram");
    return gpu::host_gpus({own_program(), "gpu-worker"},
                          {.offered = gpu::parse_names(settings.gpus.value_or(""))});
}

Equipment::Equipment(const StateFolder& state, const Settings& settings)
    : gpus_(make_gpus(state, settings)),
      runtime_(make_runtime(state, settings)),
      front_(make_front(state, settings)),
      is_front_used_(announces_with_tls(settings)) {}

}  // namespace berth::host_agent
