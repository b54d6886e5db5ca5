// The agent's side of a job's SSH sessions: takes requests at a socket from the login and nobody
// else, and starts what they ask for inside the container, on the descriptors that they bring.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace berth::host_agent {

// What sshd says of a client that wants files.
inline constexpr const char* sftp_request = "berth-sftp";

// As it goes over the socket: one message, with the three descriptors.
struct EntryRequest {
    bool terminal = false;
    std::string terminal_kind;
    std::string command;  // empty: a shell
};
std::string write_entry(const EntryRequest& request);
std::optional<EntryRequest> read_entry(std::string_view bytes);
inline constexpr std::size_t entry_bytes_max = 64 * 1024;

struct EntrancePlace {
    std::string socket;
    uid_t user = 0;  // who may ask
    std::string work;
    std::string group{};  // the name of the slot's cgroup; empty: of no slot
};

class SshEntrance {
public:
    SshEntrance(EntrancePlace place, std::function<std::optional<std::string>()> container);
    ~SshEntrance();  // ends all sessions
    SshEntrance(const SshEntrance&) = delete;
    SshEntrance& operator=(const SshEntrance&) = delete;

    void end_sessions();

private:
    struct Session;

    void accept_all();
    void serve(Session& session);
    std::vector<std::string> command_for(const EntryRequest& request,
                                         const std::string& pid_file) const;
    void collect();

    const EntrancePlace place_;
    const std::function<std::optional<std::string>()> container_;
    int listener_ = -1;
    int ending_ = -1;  // an eventfd that stays readable once we end
    std::mutex mutex_;
    std::list<std::unique_ptr<Session>> sessions_;
    std::thread accepting_;
};

}  // namespace berth::host_agent
