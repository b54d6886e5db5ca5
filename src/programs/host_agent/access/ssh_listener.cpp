#include "host_agent/access/ssh_listener.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
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
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "host_agent/access/listener.hpp"
#include "host_agent/access/ssh.hpp"
#include "host_agent/access/ssh_world.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/slot_group.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

// Who is older than sshd gives anybody to show a key has shown it.
constexpr std::chrono::seconds stranger_max{ssh_login_seconds_max};
constexpr std::size_t clients_max = 128;
constexpr std::size_t strangers_max = 64;  // who may yet be strangers
constexpr std::chrono::milliseconds sort_every{100};
constexpr off_t log_bytes_max = 256 * 1024;  // strangers can make sshd write
constexpr int reap_every_ms = 1000;

std::string read_at(const Descriptor& folder, const std::string& path) {
    const Descriptor file(::openat(folder.number(), path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(4096, '\0');
    const ssize_t count = ::read(file.number(), text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return text;
}

// Once the key was shown sshd goes on in a child that is the login. A host that does not tell of
// children leaves it to the time.
bool has_shown_key(const Descriptor& processes, pid_t sshd) {
    std::istringstream children(read_at(processes, fmt::format("{0}/task/{0}/children", sshd)));
    const std::string user = fmt::format("\nUid:\t{}\t", workload_user);
    for (pid_t child = 0; children >> child;)
        if (read_at(processes, fmt::format("{}/status", child)).find(user) != std::string::npos)
            return true;
    return false;
}

// Those who say nothing keep nobody out: where there is no room, whoever has the most strangers
// loses one to who has fewer. Nobody who has shown the key loses anything.
class Clients {
public:
    explicit Clients(Descriptor processes) : processes_(std::move(processes)) {}

    bool make_room(const std::string& origin) {
        if (has_room()) return true;
        sort_out();
        return has_room() || end_one_for(origin);
    }
    void add(pid_t process, std::string origin) {
        strangers_[process] = {std::move(origin), std::chrono::steady_clock::now()};
    }
    void reap() {
        for (pid_t ended = 0; (ended = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
            strangers_.erase(ended);
            known_.erase(ended);
        }
    }

private:
    struct Stranger {
        std::string origin;
        std::chrono::steady_clock::time_point since;
    };

    bool has_room() const {
        return strangers_.size() < strangers_max && strangers_.size() + known_.size() < clients_max;
    }
    // Not for each of those who come in a flood.
    void sort_out() {
        const auto now = std::chrono::steady_clock::now();
        if (now - sorted_at_ < sort_every) return;
        sorted_at_ = now;
        std::erase_if(strangers_, [&](const auto& each) {
            const auto& [process, stranger] = each;
            if (now - stranger.since <= stranger_max && !has_shown_key(processes_, process))
                return false;
            known_.insert(process);
            return true;
        });
    }
    bool end_one_for(const std::string& origin) {
        std::map<std::string, std::size_t> counts;
        for (const auto& [process, stranger] : strangers_) ++counts[stranger.origin];
        std::size_t most = 0;
        for (const auto& [from, count] : counts) most = std::max(most, count);
        if (counts[origin] >= most) return false;
        auto oldest = strangers_.end();
        for (auto each = strangers_.begin(); each != strangers_.end(); ++each)
            if (counts[each->second.origin] == most &&
                (oldest == strangers_.end() || each->second.since < oldest->second.since))
                oldest = each;
        // sshd and what it has started are a session of their own.
        ::kill(-oldest->first, SIGKILL);
        ::kill(oldest->first, SIGKILL);
        strangers_.erase(oldest);
        return true;
    }

    const Descriptor processes_;
    std::map<pid_t, Stranger> strangers_;
    std::set<pid_t> known_;
    std::chrono::steady_clock::time_point sorted_at_{};
};

// Of IPv6 the network, for whoever has one address there has them all. IPv4 may come as IPv6.
std::string origin_of(const sockaddr_storage& peer) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    in6_addr network = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&network)) std::fill_n(network.s6_addr + 8, 8, std::uint8_t{0});
    const void* const raw =
        peer.ss_family == AF_INET6
            ? static_cast<const void*>(&network)
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

[[noreturn]] void listen_for_ever(int listener, int log, Descriptor processes) {
    Clients clients(std::move(processes));
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
        const std::string origin = origin_of(peer);
        if (clients.make_room(origin)) {
            const pid_t process = ::fork();
            if (process == 0) become_sshd(client, log);
            if (process > 0) clients.add(process, origin);
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

// An sshd that somebody has taken over can end what is of this door and no other process of the
// host. The namespace lasts as long as its first process, which does nothing, has nothing, and goes
// with the listener.
void have_own_processes() {
    const pid_t first = ::unshare(CLONE_NEWPID) == 0 ? ::fork() : -1;
    if (first < 0) throw std::runtime_error("no namespace of processes for sshd");
    if (first > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    ::close_range(3, ~0U, 0);
    ::signal(SIGCHLD, SIG_IGN);  // whoever lost its parent is ours, and is counted by the kernel
    while (true) ::pause();
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
        // Whatever its clients make sshd do counts with the slot's containers.
        if (!plan.group.empty()) SlotGroup::called(plan.group).take_in(::getpid());
        // No sshd gets it: what it has started is looked at from here alone.
        Descriptor processes(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
        enter_ssh_world(plan, folder);
        have_own_processes();
        static_cast<void>(!::write(word, "\n", 1));
        ::close(word);
        listen_for_ever(listener.number(), log, std::move(processes));
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
