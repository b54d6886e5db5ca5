// What the container host of the box needs: podman and its like, and an image with a shell, made of
// this machine's busybox and given out by a registry on loopback, so that no network is needed.
#pragma once

#include <string>
#include <vector>

#include "box/children.hpp"

namespace berth::box {

// Why this machine can have no container host that keeps its state in the folder, in a sentence;
// empty where it can.
std::string why_no_containers(const std::string& folder);

// What the kernel keeps of rentals whose agent has ended: mounts, bridges and rules below and of
// the agent's state folder. The agent that comes next makes what it needs anew, as after a power
// cut.
void forget_rentals(const std::string& state);

class ShellImage {
public:
    ShellImage(std::string folder, int port) : folder_(std::move(folder)), port_(port) {}

    // The registry's program; the environment of whoever pulls from it names its address.
    Words registry();
    // Once, while the registry runs.
    void make();
    std::string name() const;              // with its digest
    std::string allowed_registry() const;  // for --allow-registry

private:
    Words podman(const Words& words) const;

    std::string folder_;
    int port_;
};

}  // namespace berth::box
