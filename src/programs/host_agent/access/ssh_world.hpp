// What a job's sshd lives in, so that it is inside the job and nowhere else: the network of the
// job's container, and a root of its own with the host's programs, to be read, and of the container
// everything that can be written (/work, /tmp, /dev/shm), where alone a socket can be. So a
// forwarded port or socket is the rental's, by the rental's own names, and nothing of the host can
// be reached or found. Without a container there is no network, and /work can only be read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace berth::host_agent {

// What the agent writes down for the process that listens.
struct SshPlan {
    std::string address;
    std::int64_t port = 0;
    std::string host_key;     // a file
    std::string work;         // where the work volume is mounted
    std::string program;      // berth-agent
    std::string name_server;  // that the container asks
    std::string container;    // its id; empty when it has ended
    pid_t process = 0;        // the first of the container
    std::string group{};      // the name of the slot's cgroup; empty: of no slot

    std::string written() const;
    static SshPlan read(const std::string& written);  // throws std::runtime_error
};

// Where things are in there.
inline constexpr const char* ssh_world_door = "/door";
inline constexpr const char* ssh_world_program = "/berth-agent";
inline constexpr const char* ssh_world_host_key = "/etc/ssh_host_key";
inline constexpr const char* ssh_login = "renter";

// Takes this process there, for good, with the rights that sshd needs and no others. `folder` is
// the door's own. Throws std::runtime_error with a sentence.
void enter_ssh_world(const SshPlan& plan, const std::string& folder);

}  // namespace berth::host_agent
