// Images: by digest only, from the registry that the name says, with progress and a deadline, in a
// network of their own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host_agent/core/runtime.hpp"
#include "host_agent/runtimes/pull_network.hpp"

namespace berth::host_agent {

// "repository@sha256:" and 64 hex digits, with a registry in front.
bool is_pinned_image(const std::string& image);

struct Pull {
    std::vector<std::string> podman;  // the program with the options of every call
    std::string image;
    std::string folder;      // for what is half there; its own, gone afterwards
    std::string login_file;  // with no logins in it
    PinnedRegistries registries = {};
    // A pull ends where the disk has less than this left, or more than that came.
    std::int64_t floor_bytes = 0;
    std::int64_t image_bytes_max = std::int64_t{1} << 48;
    std::int64_t network_mbit = 0;          // of the line that it may take; 0: all
    std::function<void(pid_t)> begun = {};  // for each program that fetches or unpacks
};

// DISK_FULL, and no room that others make would help: it is larger than all images may be.
class ImageTooLarge : public RuntimeError {
public:
    ImageTooLarge()
        : RuntimeError("DISK_FULL",
                       "the image is larger than the room that the host has for images") {}
};

// Returns when the image is here. Throws RuntimeError as Runtime::prepare() says.
void pull_image(const Pull& pull, const Patience& patience,
                const std::function<void(const Progress&)>& told);

// The code for what podman said of a pull that failed; empty when another try may help.
std::string failure_code(const std::string& said);
// What a renter and a host are told of a code: never what a registry said.
std::string pull_sentence(const std::string& code);

// How long to wait before the next try; none after the last. Doubled each time, half of it by
// chance, so that the hosts of a registry that was away do not come back at once.
std::optional<Duration> pause_after(int tries, double chance);

}  // namespace berth::host_agent
