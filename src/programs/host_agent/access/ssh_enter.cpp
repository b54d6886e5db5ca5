#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "host_agent/access/handover.hpp"
#include "host_agent/access/ssh.hpp"
#include "host_agent/access/ssh_entrance.hpp"

namespace berth::host_agent {
namespace {

constexpr int not_entered = 255;  // what ssh itself ends with when it gets nowhere

std::string variable(const char* name) {
    const char* const value = ::getenv(name);
    return value == nullptr ? "" : value;
}

int connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return -1;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return socket;
    ::close(socket);
    return -1;
}

}  // namespace

int enter_by_ssh(const std::string& path) {
    sigset_t resized;
    sigemptyset(&resized);
    sigaddset(&resized, SIGWINCH);
    sigprocmask(SIG_BLOCK, &resized, nullptr);
    const int signals = ::signalfd(-1, &resized, SFD_CLOEXEC);
    const std::string request = write_entry({.terminal = ::isatty(0) == 1,
                                             .terminal_kind = variable("TERM"),
                                             .command = variable("SSH_ORIGINAL_COMMAND")});
    if (request.size() > entry_bytes_max) {
        std::fputs("the command is too long\r\n", stderr);
        return not_entered;
    }
    const int socket = connect_to(path);
    const std::array<int, 3> files{0, 1, 2};
    if (socket < 0 || !hand_over(socket, request, files)) {
        std::fputs("the host's agent is not there; the job runs on; try again in a minute\r\n",
                   stderr);
        return not_entered;
    }
    while (true) {
        std::array<pollfd, 2> watched{{{socket, POLLIN, 0}, {signals, POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        if (watched[1].revents != 0) {
            signalfd_siginfo ignored{};
            static_cast<void>(!::read(signals, &ignored, sizeof ignored));
            ::send(socket, "w", 1, MSG_NOSIGNAL);
        }
        if (watched[0].revents == 0) continue;
        std::int32_t status = not_entered;
        if (::recv(socket, &status, sizeof status, 0) != sizeof status) return not_entered;
        return status;
    }
}

}  // namespace berth::host_agent
