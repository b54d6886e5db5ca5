// The cgroup of a slot: what its containers, and the programs that run beside them for its renters,
// may have together of processors, memory and processes. Of either version of cgroups.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host_agent/core/share.hpp"

namespace berth::host_agent {

class SlotGroup {
public:
    // Of the agent with this state folder. `root` is where cgroups are.
    explicit SlotGroup(const std::string& state, std::string root = "/sys/fs/cgroup");
    // The one with that name, as it was made.
    static SlotGroup called(const std::string& name);

    const std::string& name() const { return name_; }
    std::string parent() const { return "/" + name_; }  // as podman takes it

    // Makes it, or gives it other bounds. Throws std::runtime_error with a sentence: nothing of a
    // slot runs without them.
    void make(const Share& share) const;
    // A process, and what it starts from now on, counts with the containers. Throws
    // std::runtime_error.
    void take_in(pid_t process) const;
    // Harmless when it is not there; false while it is still used.
    bool remove() const;

    std::optional<std::int64_t> memory_bytes() const;  // that are used
    std::optional<std::int64_t> cpu_us() const;        // that were, since it was made

private:
    struct Named {
        std::string value;
    };
    SlotGroup(Named name, std::string root);
    bool is_unified() const;
    std::string folder(const std::string& controller) const;
    std::vector<std::string> folders() const;

    std::string name_;
    std::string root_;
};

}  // namespace berth::host_agent
