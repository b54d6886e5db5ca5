// What an agent runs for a job: the engine of the test tree, in a process that dies with the agent.
#pragma once

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace berth::scripted {

// A port nobody listens on.
inline int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool good = ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(socket);
    if (!good) throw std::runtime_error("there is no free port");
    return ntohs(address.sin_port);
}

class Workload {
public:
    explicit Workload(const std::string& key) : port_(free_port()) {
        const std::string program =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "engine";
        const std::string port = std::to_string(port_);
        process_ = ::fork();
        if (process_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::execl(program.c_str(), "engine", port.c_str(), key.c_str(), nullptr);
        ::_exit(127);
    }
    ~Workload() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;

    int port() const { return port_; }
    void start_clock() { started_ = std::chrono::steady_clock::now(); }
    // Milliseconds since READY.
    long long runtime_ms() const {
        if (!started_) return 0;
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - *started_)
            .count();
    }

private:
    int port_;
    pid_t process_ = -1;
    std::optional<std::chrono::steady_clock::time_point> started_;
};

}  // namespace berth::scripted
