// Images: by digest only, from the registry that the name says, with progress and a deadline.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host_agent/core/runtime.hpp"

namespace berth::host_agent {

// "repository@sha256:" and 64 hex digits, with a registry in front.
bool is_pinned_image(const std::string& image);

struct Pull {
    std::vector<std::string> podman;  // the program with the options of every call
    std::string image;
    std::string folder;  // for what is half there; its own, gone afterwards
};

// Returns when the image is here. Throws RuntimeError as Runtime::prepare() says.
void pull_image(const Pull& pull, const Patience& patience,
                const std::function<void(const Progress&)>& told);

// The code for what podman said of a pull that failed; empty when another try may help.
std::string failure_code(const std::string& said);

}  // namespace berth::host_agent
