// How podman learns of the host's cards: a specification (CDI 0.5.0) of our own making, of device
// nodes and of the driver's libraries, and of nothing else. The ones that vendors' tools write have
// hooks: programs that run as root, outside of the container, with the environment of the renter's
// image. Ours has none, nor does it need any: libraries are mounted by the names that programs
// load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host_agent/core/runtime.hpp"

namespace berth::host_agent {

struct DriverLibrary {
    std::string name;  // as programs load it: "libcuda.so.1"
    std::string file;  // the file itself, no link
};

struct DriverNode {
    std::string path;  // "/dev/nvidia0", inside
    unsigned major = 0;
    unsigned minor = 0;
};

// What the driver put on this host.
struct Driver {
    std::string version;  // of its libraries; empty when their names do not tell
    std::vector<DriverLibrary> libraries;
    std::vector<DriverLibrary> programs;  // as "/usr/bin/nvidia-smi", inside
    std::vector<DriverNode> nodes;        // that every card needs
};

// `root` is where the driver's files are: "" for the host's own, else a folder with `dev`,
// `proc/driver/nvidia` and folders of libraries in it.
Driver find_driver(const std::string& root);
// In which folder a library lies that this program has loaded, of what /proc/self/maps says: by how
// its path goes on from there, "/libc.so.6". Empty when there is none. One that an upgrade replaced
// meanwhile is marked as deleted, and the new one is at the same place.
std::string folder_of_loaded(const std::string& maps, std::string_view name);
// The version of the kernel's module, as it tells itself; empty when it does not.
std::string module_version(const std::string& root);
// The node of one card. Throws RuntimeError INTERNAL with a sentence when it cannot be told.
DriverNode find_card_node(const std::string& root, const GpuName& gpu);

// The specification as podman reads it.
std::string card_specification(const std::string& kind, const Driver& driver,
                               const std::vector<std::pair<GpuName, DriverNode>>& cards);

class CardSpecification {
public:
    // `vendor` is the first half of the kind, and the name of the file in `folder`.
    CardSpecification(std::string vendor, std::string driver_root,
                      std::string folder = "/var/run/cdi");

    // Written anew, so that a driver that was changed is found again; gives what podman calls the
    // cards. Throws RuntimeError: HOST_REJECTED where another specification speaks for our kind, as
    // one with hooks may, and INTERNAL where the driver is not whole.
    std::vector<std::string> names_for(const std::vector<GpuName>& gpus) const;
    std::string kind() const { return vendor_ + "/gpu"; }
    const std::string& file() const { return file_; }
    // After a boot nobody has made the node yet by which programs share memory with the card. This
    // loads a module of the driver, which may take long.
    void make_nodes() const;
    // What is wrong with the driver, in words; empty when nothing is. It only looks.
    std::string trouble() const;

private:
    void refuse_others() const;

    const std::string vendor_;
    const std::string driver_root_;
    const std::string folder_;
    const std::string file_;
};

// Whether a specification, in JSON or YAML, names programs to be run.
bool has_hooks(const std::string& specification);

}  // namespace berth::host_agent
