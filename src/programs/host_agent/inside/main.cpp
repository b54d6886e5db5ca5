// berth-inside: a program without libraries that runs in a container and says what it can do there.
// The agent starts it in the machine test, and tests in every other way.
//
//     berth-inside profile             one "name value" a line; see agent/container_profile.hpp
//     berth-inside look NAME ADDRESS PORT  the profile, a name, a connection and the cards
//     berth-inside connect ADDRESS PORT
//     berth-inside open ADDRESS PORT COUNT   how many connections can be had at once
//     berth-inside resolve NAME        asks the first nameserver of /etc/resolv.conf
//     berth-inside send ADDRESS PORT BYTES
//     berth-inside serve PORT          answers every connection with a line of HTTP
//     berth-inside sink PORT           takes all and says nothing
//     berth-inside eat BYTES           uses memory
//     berth-inside fork COUNT          says how many processes could be made
//     berth-inside fill FILE           says how many bytes a file could have
//     berth-inside wait                until it is told to end, with 7
//     berth-inside -- PROGRAM …        as the first process: see init.hpp
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "init.hpp"

namespace {

std::string read_file(const char* path) {
    std::string out;
    FILE* const file = fopen(path, "re");
    if (file == nullptr) return out;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) out.append(buffer, n);
    fclose(file);
    return out;
}

void tell(const char* name, const std::string& value) { printf("%s %s\n", name, value.c_str()); }
void tell(const char* name, long long value) { tell(name, std::to_string(value)); }

// "allowed", or why not.
void tell_try(const char* name, long result) {
    tell(name, result >= 0 ? "allowed" : strerrorname_np(errno));
}

std::string status_field(const char* name) {
    const std::string text = read_file("/proc/self/status");
    const std::size_t at = text.find(std::string("\n") + name + ":\t");
    if (at == std::string::npos) return "?";
    const std::size_t from = at + strlen(name) + 3;
    return text.substr(from, text.find('\n', from) - from);
}

bool can_create(const std::string& folder) {
    const std::string path = folder + "/berth-inside-was-here";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return false;
    close(file);
    unlink(path.c_str());
    return true;
}

struct Mount {
    std::string path;
    std::string options;
};

std::vector<Mount> mounts() {
    std::vector<Mount> all;
    FILE* const file = fopen("/proc/self/mounts", "re");
    char path[4096];
    char options[4096];
    while (file != nullptr && fscanf(file, "%*s %4095s %*s %4095s %*d %*d", path, options) == 2)
        all.push_back({path, options});
    if (file != nullptr) fclose(file);
    return all;
}

void tell_writable() {
    std::string writable;
    std::string looked = ",";
    const auto look = [&](const std::string& path) {
        if (looked.find("," + path + ",") != std::string::npos) return;
        looked += path + ",";
        if (can_create(path)) writable += (writable.empty() ? "" : ",") + path;
    };
    for (const char* folder : {"/", "/etc", "/tmp", "/usr", "/bin", "/run", "/var", "/var/tmp",
                               "/home", "/root", "/opt", "/sys", "/proc"})
        look(folder);
    for (const Mount& mount : mounts())
        if (mount.path != "/" && mount.path != "/sys" && mount.path != "/proc") look(mount.path);
    tell("writable", writable);
    for (const Mount& mount : mounts())
        if (mount.path == "/work" || mount.path == "/cache" || mount.path == "/work/.berth" ||
            mount.path == "/tmp" || mount.path == "/dev/shm")
            tell(("mount:" + mount.path).c_str(), mount.options);
    struct statvfs facts {};
    for (const auto& [path, name] :
         {std::pair{"/work", "work_bytes"}, std::pair{"/tmp", "tmp_bytes"},
          std::pair{"/dev/shm", "shm_bytes"}})
        if (statvfs(path, &facts) == 0)
            tell(name, static_cast<long long>(facts.f_blocks * facts.f_frsize));
    const char* const locale = getenv("LANG");
    tell("locale", locale == nullptr ? "none" : locale);
}

// In a child: what is allowed here would change what comes after.
template <class Attempt>
void tell_attempt(const char* name, Attempt attempt) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        tell_try(name, attempt());
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

void tell_refusals() {
    tell_attempt("unshare_user", [] { return unshare(CLONE_NEWUSER); });
    tell_attempt("unshare_mount", [] { return unshare(CLONE_NEWNS); });
    tell_attempt("clone_user", [] {
        const long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, 0, 0, 0);
        if (pid == 0) _exit(0);
        return pid;
    });
    tell_attempt("mount", [] { return mount("none", "/work", "tmpfs", 0, nullptr); });
    tell_attempt("setuid_root", [] { return setuid(0); });
    tell_attempt("message_queue", [] {
        return static_cast<int>(syscall(SYS_mq_open, "berth", O_CREAT | O_RDWR, 0600, nullptr));
    });
    tell_attempt("kernel_key", [] {
        return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1);
    });
    tell_attempt("bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0); });
    tell_attempt("userfault", [] { return syscall(SYS_userfaultfd, 0); });
    tell_attempt("kexec", [] { return syscall(SYS_kexec_load, 0, 0, nullptr, 0); });
    tell_attempt("module", [] { return syscall(SYS_finit_module, -1, "", 0); });
    tell_attempt("trace", [] { return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); });
    tell_attempt("io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr); });
    tell_attempt("perf", [] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); });
    tell_attempt("raw_socket", [] { return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); });
    tell_attempt("packet_socket", [] { return socket(AF_PACKET, SOCK_RAW, 0); });
    tell_attempt("vsock_socket", [] { return socket(AF_VSOCK, SOCK_STREAM, 0); });
    tell_attempt("cipher_socket", [] { return socket(AF_ALG, SOCK_SEQPACKET, 0); });
    tell_attempt("device_node", [] { return mknod("/work/berth-node", S_IFCHR | 0600, 0x103); });
}

long long limit_of(const std::vector<const char*>& paths) {
    for (const char* path : paths) {
        const std::string text = read_file(path);
        if (!text.empty()) return text.starts_with("max") ? -1 : atoll(text.c_str());
    }
    return -1;
}

int profile() {
    tell("uid", getuid());
    tell("gid", getgid());
    tell("groups", status_field("Groups"));
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
        tell(set, status_field(set));
    tell("NoNewPrivs", status_field("NoNewPrivs"));
    tell("Seccomp", status_field("Seccomp"));
    tell_writable();
    tell_refusals();
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    tell("core_bytes", static_cast<long long>(core.rlim_cur));
    tell("pids_max", limit_of({"/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max"}));
    tell("memory_max",
         limit_of({"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"}));
    tell("cpu_quota_us",
         limit_of({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu.max"}));
    tell("first_process", read_file("/proc/1/comm").starts_with("berth-inside") ? "own" : "other");
    std::string interfaces;
    for (const auto& line : {read_file("/proc/net/dev")})
        for (std::size_t colon = line.find(':'); colon != std::string::npos;
             colon = line.find(':', colon + 1)) {
            const std::size_t space = line.find_last_of(" \n", colon);
            interfaces +=
                (interfaces.empty() ? "" : ",") + line.substr(space + 1, colon - space - 1);
        }
    tell("interfaces", interfaces);
    return 0;
}

// A connected socket, or -1 and errno.
int connect_to(const char* address, const char* port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(atoi(port)));
    inet_pton(AF_INET, address, &to.sin_addr);
    const int peer = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(peer, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return peer;
    if (errno != EINPROGRESS) return -1;
    pollfd ready{peer, POLLOUT, 0};
    constexpr int longest_ms = 2000;
    if (poll(&ready, 1, longest_ms) == 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    socklen_t size = sizeof errno;
    int failure = 0;
    getsockopt(peer, SOL_SOCKET, SO_ERROR, &failure, &size);
    errno = failure;
    return failure == 0 ? peer : -1;
}

// All at the same time, and no longer than it takes to be asked once: who is not answered asks
// again after a second.
int open_many(const char* address, const char* port, int count) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(atoi(port)));
    inet_pton(AF_INET, address, &to.sin_addr);
    std::vector<pollfd> peers;
    for (int i = 0; i < count; ++i) {
        const int peer = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(peer, reinterpret_cast<const sockaddr*>(&to), sizeof to);
        peers.push_back({peer, POLLOUT, 0});
    }
    usleep(700'000);
    poll(peers.data(), peers.size(), 0);
    int opened = 0;
    for (const pollfd& each : peers)
        if (each.revents == POLLOUT) ++opened;
    tell("opened", opened);
    return 0;
}

int resolve(const char* name) {
    const std::string text = read_file("/etc/resolv.conf");
    const std::size_t at = text.find("nameserver ");
    if (at == std::string::npos) {
        tell("resolve", "no nameserver");
        return 1;
    }
    const std::string server = text.substr(at + 11, text.find('\n', at) - at - 11);
    std::string query("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
    for (const char* word = name; *word != '\0';) {
        const std::size_t length = strcspn(word, ".");
        query += static_cast<char>(length);
        query.append(word, length);
        word += length + (word[length] == '.' ? 1 : 0);
    }
    query.append("\0\0\1\0\1", 5);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(53);
    inet_pton(AF_INET, server.c_str(), &to.sin_addr);
    const int peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (connect(peer, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return 1;
    send(peer, query.data(), query.size(), 0);
    pollfd ready{peer, POLLIN, 0};
    char answer[512];
    const ssize_t count = poll(&ready, 1, 5000) == 1 ? recv(peer, answer, sizeof answer, 0) : -1;
    const bool answered = count > 12 && answer[0] == '\x12' && answer[1] == '\x34';
    // An answer without a fault and with something in it, or with so much that it was cut.
    const bool found = answered && (answer[3] & 0x0f) == 0 &&
                       ((answer[2] & 0x02) != 0 || answer[6] != 0 || answer[7] != 0);
    tell("resolve", found ? "found" : answered ? "answered" : "silence");
    return answered ? 0 : 1;
}

// What the machine test asks for. An address of "-" is not connected to.
int look_around(const char* name, const char* address, const char* port) {
    profile();
    resolve(name);
    if (strcmp(address, "-") != 0) tell_try("connect", connect_to(address, port));
    constexpr const char* cards = "/berth-inside-cards";
    if (access(cards, X_OK) != 0) return 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl(cards, cards, nullptr);
        tell("nvml", strerrorname_np(errno));
        fflush(stdout);
        _exit(1);
    }
    waitpid(child, nullptr, 0);
    return 0;
}

int send_bytes(const char* address, const char* port, long long bytes) {
    const int peer = connect_to(address, port);
    tell_try("connect", peer);
    if (peer < 0) return 1;
    fcntl(peer, F_SETFL, 0);
    const std::string piece(65536, 'x');
    while (bytes > 0) {
        const auto size = static_cast<std::size_t>(std::min<long long>(bytes, 65536));
        const ssize_t count = send(peer, piece.data(), size, MSG_NOSIGNAL);
        if (count < 0) return 1;
        bytes -= count;
    }
    shutdown(peer, SHUT_WR);
    char rest[16];
    while (recv(peer, rest, sizeof rest, 0) > 0) {
    }
    return 0;
}

// Neither a caller that is gone nor a reader of its output that is gone ends it.
int listen_at(const char* port, bool answering) {
    signal(SIGPIPE, SIG_IGN);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(atoi(port)));
    const int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
        perror("bind");
        return 1;
    }
    listen(listener, 16);
    tell("listening", port);
    fflush(stdout);
    while (true) {
        const int peer = accept(listener, nullptr, nullptr);
        if (peer < 0) continue;
        char request[4096];
        while (read(peer, request, sizeof request) > 0 && !answering) {
        }
        if (answering)
            dprintf(peer,
                    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\ninside\n");
        close(peer);
    }
}

int fork_many(int count) {
    int made = 0;
    std::vector<pid_t> all;
    for (; made < count; ++made) {
        const pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            pause();
            _exit(0);
        }
        all.push_back(child);
    }
    for (const pid_t each : all) kill(each, SIGKILL);
    for (const pid_t each : all) waitpid(each, nullptr, 0);
    tell("forked", made);
    return 0;
}

int fill(const char* path) {
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string piece(std::size_t{1024} * 1024, 'x');
    long long sum = 0;
    for (ssize_t n; file >= 0 && (n = write(file, piece.data(), piece.size())) > 0;) sum += n;
    const bool kept = file >= 0 && fsync(file) == 0;
    tell("filled", kept ? sum : -1);
    unlink(path);
    return 0;
}

int eat(long long bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    char* const all = static_cast<char*>(malloc(size));
    if (all == nullptr) return 1;
    for (std::size_t at = 0; at < size; at += 4096) const_cast<volatile char*>(all)[at] = 1;
    puts("eaten");
    return 0;
}

int wait_for_the_end() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    puts("waiting");
    fflush(stdout);
    int number = 0;
    sigwait(&set, &number);
    puts("told to end");
    return 7;
}

}  // namespace

int main(int count, char** words) {
    const std::string what = count > 1 ? words[1] : "";
    if (what == "--") return run_as_init(words + 2);
    if (what == "profile") return profile();
    if (what == "look" && count == 5) return look_around(words[2], words[3], words[4]);
    if (what == "connect" && count == 4) {
        const int peer = connect_to(words[2], words[3]);
        tell_try("connect", peer);
        return peer < 0 ? 1 : 0;
    }
    if (what == "open" && count == 5) return open_many(words[2], words[3], atoi(words[4]));
    if (what == "resolve" && count == 3) return resolve(words[2]);
    if (what == "send" && count == 5) return send_bytes(words[2], words[3], atoll(words[4]));
    if (what == "serve" && count == 3) return listen_at(words[2], true);
    if (what == "sink" && count == 3) return listen_at(words[2], false);
    if (what == "eat" && count == 3) return eat(atoll(words[2]));
    if (what == "fork" && count == 3) return fork_many(atoi(words[2]));
    if (what == "fill" && count == 3) return fill(words[2]);
    if (what == "wait") return wait_for_the_end();
    fputs(
        "usage: berth-inside "
        "profile|look|connect|open|resolve|send|serve|sink|eat|fork|fill|wait|--\n",
        stderr);
    return 2;
}
