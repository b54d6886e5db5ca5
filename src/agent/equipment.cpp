#include "agent/equipment.hpp"

#include <filesystem>
#include <stdexcept>

#include "agent/process_runtime.hpp"

namespace berth::agent {
namespace {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::unique_ptr<Runtime> make_runtime(const State& state, const Settings& settings) {
    const bool is_simulated = !settings.simulate_gpu.empty() || settings.runtime == "simulated";
    if (settings.runtime == "process" || settings.runtime == "simulated") {
        ProcessRuntime::Setup setup;
        setup.jobs_folder = state.folder() + "/jobs";
        setup.program = own_program();
        if (!settings.engines.empty()) setup.engines = read_engines(settings.engines);
        setup.has_toy = is_simulated;
        setup.is_simulated = is_simulated;
        return std::make_unique<ProcessRuntime>(std::move(setup));
    }
    throw std::invalid_argument("--runtime: must be process or simulated");
}

}  // namespace

Equipment::Equipment(const State& state, const Settings& settings)
    : gpus_(settings.simulate_gpu.empty()
                ? gpu::host_gpus({own_program(), "gpu-worker"})
                : gpu::simulated_gpus(settings.simulate_gpu, 1,
                                      state.folder() + "/simulated-vram")),
      runtime_(make_runtime(state, settings)) {}

}  // namespace berth::agent
