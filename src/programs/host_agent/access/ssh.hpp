// The way in for a renter with an SSH key: a port of the job's own, where a process listens
// (ssh_listener.hpp) and gives each client a real sshd. That lives in the network of the job's
// container and sees what can be written there (ssh_world.hpp), so that what is forwarded is
// forwarded inside. It lets in one key, tells strangers nothing, and starts one program, which is
// berth-agent's (`ssh-enter`), has no rights, and asks the agent, over a socket that only the login
// can open, to enter the container. So a shell has the launch profile too. Files go by sftp-server,
// shut up with the work volume; it stays when the container has ended, for reading alone.
//
// Listener and the socket's folder go on without the agent; who comes while it is away is told so.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/ids.hpp"

namespace berth::host_agent {

inline constexpr int ssh_login_seconds_max = 30;  // to show the key

struct SshPlace {
    JobId job;
    std::string folder;  // of the job: the host key stays there
    std::string run;     // of the agent, where a login may look
    std::string program;
    std::string address;
    std::int64_t port = 0;
    std::string public_key;
    std::string name_server;  // that the container asks
    std::string work;         // where the work volume is mounted
    std::string container;    // its id; empty when it has ended
    pid_t process = 0;        // the first of the container
    std::string group{};      // the name of the slot's cgroup; empty: of no slot

    bool operator==(const SshPlace&) const = default;
};

class SshEntrance;

class SshDoor {
public:
    // Opened when this returns, or std::runtime_error. `container` gives the id of the job's
    // container, and nothing when it has ended.
    SshDoor(SshPlace place, std::function<std::optional<std::string>()> container);
    ~SshDoor();  // the listener goes on

    const std::string& fingerprint() const { return fingerprint_; }  // of the host key
    // False where it is a door to somewhere else. It listens again if it did not, and nobody who is
    // in notices.
    bool stays_open(const SshPlace& place) const;
    // While there is a container: one that was killed listens again. Throws std::runtime_error.
    void keep_listening() const;
    // The container has ended: who is in is put out, and what it left can be read, if not at once
    // then as soon as the host can.
    void end_sessions();

    // What a door begins with and takes longest for; may be done before there is a container.
    static void make_host_key(const std::string& folder);

    // Ends the listener and all who came in by it, and removes what the door left; harmless without
    // one.
    static void remove(JobId job, const std::string& folder, const std::string& run);

private:
    void listen() const;
    bool try_to_listen() const;

    mutable std::mutex mutex_;  // of the place, and of who makes a listener
    SshPlace place_;
    const std::string folder_;
    std::string fingerprint_;
    std::unique_ptr<SshEntrance> entrance_;
    std::jthread again_;  // tries until it listens; ended before all else here
};

// "ssh-ed25519 AAAA…" of a line of OpenSSH, without its comment; empty for a line that is anything
// else, options in front of the key included.
std::optional<std::string> plain_public_key(const std::string& line);

// "SHA256:…" of such a line, as ssh-keygen -l says it. Throws std::runtime_error when it is none.
std::string key_fingerprint(const std::string& line);

// What sshd starts for the login, asking at `socket`. Gives the exit status of what was asked for.
int enter_by_ssh(const std::string& socket);

}  // namespace berth::host_agent
