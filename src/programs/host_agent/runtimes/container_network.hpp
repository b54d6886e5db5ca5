// The network of a job: a bridge that nobody else is on, with addresses that nothing else here has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace berth::host_agent {

struct JobNetwork {
    std::string name;
    std::string bridge;
    std::string subnet;
    std::string gateway;  // the host
    std::string address;  // the job
};

// The networks that the host is in itself, as "203.0.113.0/24".
std::vector<std::string> neighbour_networks();

class ContainerNetworks {
public:
    // `folder` is podman's --network-config-dir. `pool` is how the addresses of all jobs begin:
    // two numbers, "10.213".
    ContainerNetworks(std::string folder, std::string pool);

    // As it is, or made: podman reads the file when the container starts.
    JobNetwork make(JobId job);
    std::optional<JobNetwork> find(JobId job) const;
    void remove(JobId job);  // the bridge too, should it still be there

private:
    std::string file_of(JobId job) const;

    const std::string folder_;
    const std::string pool_;
};

}  // namespace berth::host_agent
