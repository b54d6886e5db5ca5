// The launch profile: what every workload runs under, whatever its template says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host_agent/core/runtime.hpp"
#include "host_agent/runtimes/container_network.hpp"

namespace berth::host_agent {

struct ContainerLaunch {
    const Workload& workload;
    JobNetwork network;
    std::string work;          // where the work volume is mounted
    std::string cache;         // what jobs of this host may read and none may write
    bool has_weights = false;  // there, of its model
    std::string seccomp_file;
    std::string log_file;
    std::string pid_file;                   // gets the number of the first process
    std::vector<std::string> devices = {};  // as podman calls the cards
    std::string init_program;               // berth-inside, for workloads that have an init
    bool image_is_folder = false;
    std::string group = {};  // the cgroup that the container's is made in; empty: podman's own
};

std::string container_name(JobId job);
// podman's name of each value: what several variables share is kept once.
std::map<std::string, std::string> secrets_of(const Workload& workload);

// What comes after `podman`.
std::vector<std::string> launch_arguments(const ContainerLaunch& launch);

}  // namespace berth::host_agent
