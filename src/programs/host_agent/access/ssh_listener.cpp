#include "host_agent/access/ssh_listener.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>

#include "host_agent/access/listener.hpp"
#include "host_agent/access/ssh.hpp"
#include "host_agent/access/ssh_world.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

// Who is older than sshd gives anybody to show a key has shown it.
constexpr std::chrono::seconds stranger_max{ssh_login_seconds_max};
constexpr std::size_t clients_max = 128;
constexpr std::size_t strangers_max = 64;  // who may yet be strangers
constexpr std::size_t strangers_per_address_max = 40;
constexpr off_t log_bytes_max = 256 * 1024;  // strangers can make sshd write
constexpr int reap_every_ms = 1000;

class Clients {
public:
    bool may_enter(const std::string& address) const {
        const auto now = std::chrono::steady_clock::now();
        std::size_t strangers = 0;
        std::size_t from_there = 0;
        for (const auto& [process, client] : clients_) {
            if (now - client.since > stranger_max) continue;
            ++strangers;
            if (client.address == address) ++from_there;
        }
        return clients_.size() < clients_max && strangers < strangers_max &&
               from_there < strangers_per_address_max;
    }
    void add(pid_t process, std::string address) {
        clients_[process] = {std::move(address), std::chrono::steady_clock::now()};
    }
    void reap() {
        for (pid_t ended = 0; (ended = ::waitpid(-1, nullptr, WNOHANG)) > 0;) clients_.erase(ended);
    }

private:
    struct Client {
        std::string address;
        std::chrono::steady_clock::time_point since;
    };
    std::map<pid_t, Client> clients_;
};

std::string address_of(const sockaddr_storage& peer) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const raw =
        peer.ss_family == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(peer).sin_addr);
    if (::inet_ntop(peer.ss_family, raw, text.data(), text.size()) == nullptr) return "";
    return text.data();
}

[[noreturn]] void become_sshd(int client, int log) {
    struct stat written {};
    const bool is_full = ::fstat(log, &written) != 0 || written.st_size > log_bytes_max;
    const int said = is_full ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : log;
    ::setsid();
    ::signal(SIGPIPE, SIG_DFL);
    const std::string config = std::string(ssh_world_door) + "/config";
    const std::array<const char*, 6> words{"/usr/sbin/sshd", "-i",   "-e", "-f",
                                           config.c_str(),   nullptr};
    const std::array<const char*, 2> variables{"PATH=/usr/bin:/bin", nullptr};
    if (::dup2(client, 0) == 0 && ::dup2(client, 1) == 1 && ::dup2(said, 2) == 2)
        ::execve(words[0], const_cast<char* const*>(words.data()),
                 const_cast<char* const*>(variables.data()));
    ::_exit(1);
}

[[noreturn]] void listen_for_ever(int listener, int log) {
    Clients clients;
    while (true) {
        pollfd watched{listener, POLLIN, 0};
        const int ready = ::poll(&watched, 1, reap_every_ms);
        clients.reap();
        if (ready <= 0) continue;
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        const int client =
            ::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
        if (client < 0) {
            ::usleep(10'000);  // without means for another: some come back
            continue;
        }
        const std::string address = address_of(peer);
        if (clients.may_enter(address)) {
            const pid_t process = ::fork();
            if (process == 0) become_sshd(client, log);
            if (process > 0) clients.add(process, address);
        }
        ::close(client);
    }
}

// Nothing of whoever started it is kept, but the word that it listens.
void leave_parent(int word, int log) {
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int each : {0, 1}) ::dup2(nothing, each);
    ::dup2(log, 2);
    ::signal(SIGPIPE, SIG_IGN);
    ::umask(022);
    // `word` and `log` are the lowest that are open, for the program began with none.
    ::close_range(static_cast<unsigned>(std::max(word, log)) + 1, ~0U, 0);
}

[[noreturn]] void run_listener(const std::string& folder, int word) {
    std::string why;
    try {
        const int log = ::open((folder + "/log").c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
        leave_parent(word, log);
        const SshPlan plan = SshPlan::read(read_host_file(folder + "/plan"));
        // In the host's network, where the world comes to; who is accepted stays there.
        Descriptor listener = listen_at(plan.address, plan.port);
        const std::string number = std::to_string(::getpid()) + "\n";
        std::ofstream(folder + "/pid") << number;
        enter_ssh_world(plan, folder);
        static_cast<void>(!::write(word, "\n", 1));
        ::close(word);
        listen_for_ever(listener.number(), log);
    } catch (const std::exception& error) {
        why = error.what();
    }
    static_cast<void>(!::write(word, why.data(), why.size()));
    ::_exit(1);
}

}  // namespace

int start_ssh_listener(const std::string& folder) {
    ::close_range(3, ~0U, 0);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return 1;
    const pid_t process = ::fork();
    if (process == 0) {
        ::close(ends[0]);
        run_listener(folder, ends[1]);
    }
    ::close(ends[1]);
    std::array<char, 512> word{};
    const ssize_t count = process < 0 ? 0 : ::read(ends[0], word.data(), word.size());
    if (count == 1 && word[0] == '\n') return 0;
    const std::string_view why(word.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    std::fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
    return 1;
}

}  // namespace berth::host_agent
