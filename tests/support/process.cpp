#include "support/process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "support/folder.hpp"
#include "support/sanitized.hpp"

extern char** environ;

namespace berth::test {
namespace {

int exit_status(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

}  // namespace

// Looked up once: in mounts of its own a program may no longer find where it came from.
std::string program_path(const std::string& name) {
    static const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return folder / name;
}

Process::Process(const std::vector<std::string>& arguments, const std::string& log_path)
    : log_path_(log_path), pid_(-1) {
    std::vector<char*> list;
    for (const std::string& argument : arguments)
        list.push_back(const_cast<char*>(argument.c_str()));
    list.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    // A listener of the test ends with the test's own.
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    // Leaks are looked for in the tests' own programs; at every end of a server it takes seconds.
    if (sanitized) ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    const int failed = posix_spawn(&pid_, list[0], &files, nullptr, list.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error("cannot start " + arguments[0]);
}

Process::~Process() {
    if (pid_ < 0) return;
    signal(SIGKILL);
    wait();
}

// One that was waited for has no number any more, and -1 would be every process there is.
void Process::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

int Process::wait() {
    if (pid_ <= 0) return -1;
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return exit_status(raw);
}

bool Process::running() {
    siginfo_t facts{};
    return pid_ >= 0 &&
           ::waitid(P_PID, static_cast<id_t>(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           facts.si_pid == 0;
}

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

// Taken for as long as this process lives: a name that only one socket of the machine can have.
bool claim(std::uint16_t port) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "berth-test-port-" + std::to_string(port);
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
    ::close(socket);
    return false;
}

bool can_listen(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const bool free =
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return free;
}

// Below the range out of which the kernel gives ports to clients: one of those may be taken by any
// connection between being asked for and being listened on.
constexpr std::uint16_t port_first = 10'000;
constexpr std::uint16_t port_count = 22'000;

}  // namespace

std::uint16_t free_port() {
    static std::atomic<std::uint32_t> next = static_cast<std::uint32_t>(::getpid()) * 37U;
    for (int tries = 0; tries < port_count; ++tries) {
        const auto port = static_cast<std::uint16_t>(port_first + next++ % port_count);
        if (claim(port) && can_listen(port)) return port;
    }
    throw std::runtime_error("no free port");
}

std::uint16_t free_ports(std::uint16_t count) {
    const auto follows = [](std::uint16_t first, int so_far) {
        const auto port = static_cast<std::uint16_t>(first + so_far);
        return port < port_first + port_count && claim(port) && can_listen(port);
    };
    for (;;) {
        const std::uint16_t first = free_port();
        int got = 1;
        while (got < count && follows(first, got)) ++got;
        if (got == count) return first;
    }
}

bool wait_until_ready(Process& process, const std::string& url) {
    constexpr auto longest = std::chrono::minutes(4);
    http::CurlClient client;
    const auto until = std::chrono::steady_clock::now() + longest;
    while (std::chrono::steady_clock::now() < until && process.running()) {
        try {
            http::Outbound request;
            request.url = url;
            if (client.send(request).status == 200) return true;
        } catch (const http::TransportError&) {
        }
        ::poll(nullptr, 0, 5);
    }
    return false;
}

Outcome run_program(const std::vector<std::string>& arguments) {
    const TemporaryFolder folder;
    Process process(arguments, folder.path() + "/output");
    const int status = process.wait();
    return {status, read_text(folder.path() + "/output")};
}

}  // namespace berth::test
