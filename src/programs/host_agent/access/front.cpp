#include "host_agent/access/front.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "host_agent/access/front_process.hpp"
#include "host_agent/access/handover.hpp"
#include "host_agent/access/host_user.hpp"
#include "host_agent/access/listener.hpp"
#include "host_agent/core/tool.hpp"
#include "http/tls_key.hpp"

namespace berth::host_agent {
namespace {

constexpr int answer_seconds_max = 10;
constexpr int start_pause_ms = 500;  // after one that died

// The process speaks to the workloads on loopback and begins no other conversation. The rule is one
// for all agents of the host, so that none removes it; it looks before podman's own rules turn
// addresses of loopback into those of containers.
void keep_on_loopback(uid_t user) {
    if (user == 0 || ::geteuid() != 0 || !has_tool("nft")) return;
    const ToolOutcome outcome = run_tool({.arguments = {"nft", "-f", "-"},
                                          .input = fmt::format(R"(add table inet berth_front
delete table inet berth_front
table inet berth_front {{
  chain leaving {{
    type filter hook output priority -150; policy accept;
    meta skuid != {0} return
    ct state established,related accept
    ip daddr 127.0.0.0/8 accept
    reject
  }}
}}
)",
                                                               user)});
    if (!outcome.good()) log(Level::warn, "front_not_guarded", {{"why", outcome.why()}});
}

pid_t start_front(const std::string& program, uid_t user, int socket) {
    const std::string number = std::to_string(user);
    std::vector<std::string> arguments = {program, "front", "--user", number};
    std::vector<char*> words;
    for (std::string& each : arguments) words.push_back(each.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, front_socket);
    posix_spawn_file_actions_addclosefrom_np(&actions, front_socket + 1);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&how, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&how, &signals);
    pid_t process = 0;
    std::array<char*, 1> no_variables{nullptr};
    const int failed =
        ::posix_spawn(&process, program.c_str(), &actions, &how, words.data(), no_variables.data());
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("the front's process cannot be started");
    return process;
}

void bury(pid_t process) {
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

TlsFront::TlsFront(Options options)
    : options_(std::move(options)),
      changed_(::eventfd(0, EFD_CLOEXEC)),
      watching_([this] { watch(); }) {}

TlsFront::~TlsFront() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    ::eventfd_write(changed_.number(), 1);
    watching_.join();
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    bury(process_);
}

pid_t TlsFront::process() const {
    const std::lock_guard lock(mutex_);
    return process_;
}

std::string TlsFront::open(const Opening& opening) {
    const std::lock_guard lock(mutex_);
    try {
        const std::string certificate = opening.folder + "/tls.crt";
        const std::string key = opening.folder + "/tls.key";
        const Bytes hash = http::make_self_signed(certificate, key);
        shut(opening.port);
        Door door{listen_at(opening.is_by_gate ? "127.0.0.1" : options_.address, opening.port),
                  {.port = opening.port,
                   .local_port = opening.local_port,
                   .shown_sha256 = to_hex(crypto::sha256("Bearer " + opening.key)),
                   .certificate = read_host_file(certificate),
                   .key = read_host_file(key)}};
        if (process_ == 0) start_process();
        const std::string why_not = tell(door.order, door.listener.number());
        if (!why_not.empty()) throw std::runtime_error(why_not);
        doors_.emplace(opening.port, std::move(door));
        return to_hex(hash);
    } catch (const std::exception& error) {
        throw RuntimeError("INTERNAL", fmt::format("the endpoint {} cannot be opened: {}",
                                                   opening.name, error.what()));
    }
}

void TlsFront::close(std::int64_t port) {
    const std::lock_guard lock(mutex_);
    shut(port);
}

// With the lock, as the next two. The listening socket is there on both sides, so the process must
// have heard of it, or be gone.
void TlsFront::shut(std::int64_t port) {
    if (doors_.erase(port) == 0 || process_ == 0) return;
    const std::string why_not = tell({.opens = false, .port = port}, -1);
    if (!why_not.empty()) log(Level::warn, "front_door_not_closed", {{"why", why_not}});
}

void TlsFront::start_process() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error("no socket can be made");
    Descriptor ours(ends[0]);
    const Descriptor theirs(ends[1]);
    const timeval most{.tv_sec = answer_seconds_max, .tv_usec = 0};
    ::setsockopt(ours.number(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    ::setsockopt(ours.number(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    const uid_t user = front_user();
    keep_on_loopback(user);
    const pid_t process = start_front(options_.program, user, theirs.number());
    try {
        if (options_.begun) options_.begun(process);
    } catch (...) {
        ::kill(process, SIGKILL);
        bury(process);
        throw;
    }
    process_ = process;
    socket_ = std::move(ours);
    ::eventfd_write(changed_.number(), 1);
    for (const auto& [port, door] : doors_) {
        const std::string why_not = tell(door.order, door.listener.number());
        if (!why_not.empty())
            log(Level::error, "front_door_not_opened", {{"port", port}, {"why", why_not}});
    }
}

// Empty, or why not. A process that does not answer is ended, and watch() starts another.
std::string TlsFront::tell(const FrontOrder& order, int listener) {
    const std::array<int, 1> files{listener};
    const std::span<const int> handed = files;
    const bool sent = hand_over(socket_.number(), write_order(order),
                                listener < 0 ? std::span<const int>() : handed);
    const auto answer = sent ? take_handed(socket_.number(), order_bytes_max) : std::nullopt;
    if (answer && answer->bytes == front_obeyed) return "";
    if (answer) return answer->bytes;
    ::kill(process_, SIGKILL);
    return "the front's process does not answer";
}

void TlsFront::watch() {
    while (true) {
        int socket = -1;
        bool is_missing = false;
        {
            const std::lock_guard lock(mutex_);
            if (ending_) return;
            socket = socket_.number();
            is_missing = process_ == 0 && !doors_.empty();
        }
        // Nothing is read here: only the end of the other side counts. -1 is passed over.
        std::array<pollfd, 2> watched{{{changed_.number(), POLLIN, 0}, {socket, 0, 0}}};
        const int count = ::poll(watched.data(), watched.size(), is_missing ? start_pause_ms : -1);
        if (count < 0) continue;
        if (watched[0].revents != 0) {
            eventfd_t ignored = 0;
            ::eventfd_read(changed_.number(), &ignored);
        }
        look(watched[1].revents != 0, is_missing && count == 0);
    }
}

// Who comes meanwhile waits in the listening sockets, which are ours. A process that only shut its
// socket lives on, whoever has it by then, and would be waited for with every door.
void TlsFront::look(bool has_ended, bool is_missing) {
    const std::lock_guard lock(mutex_);
    if (has_ended) {
        log(Level::error, "front_ended", {});
        ::kill(process_, SIGKILL);
        bury(process_);
        process_ = 0;
        socket_.close();
    }
    if (!is_missing || ending_ || process_ != 0) return;
    try {
        start_process();
    } catch (const std::exception& error) {
        log(Level::error, "front_not_started", {{"why", error.what()}});
    }
}

}  // namespace berth::host_agent
