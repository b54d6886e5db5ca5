// The parts that settings choose: cards, runtime and front of this host.
#pragma once

#include <memory>

#include "gpu/gpu.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/state_folder.hpp"

namespace berth::host_agent {

// Throws std::invalid_argument with a sentence when settings make no sense.
std::unique_ptr<gpu::Gpus> make_gpus(const StateFolder& state, const Settings& settings);

// What a reboot may take of the agent with this state folder.
std::string run_folder(const std::string& state);

class Equipment {
public:
    // Throws std::invalid_argument with a sentence when settings make no sense.
    Equipment(const StateFolder& state, const Settings& settings);

    gpu::Gpus& gpus() { return *gpus_; }
    Runtime& runtime() { return *runtime_; }
    // Null: endpoints are announced without TLS. By a gate nothing is.
    Front* front() { return is_front_used_ ? front_.get() : nullptr; }
    Front& gate_front() { return *front_; }

private:
    std::unique_ptr<gpu::Gpus> gpus_;
    std::unique_ptr<Runtime> runtime_;
    std::unique_ptr<Front> front_;
    bool is_front_used_;
};

}  // namespace berth::host_agent
