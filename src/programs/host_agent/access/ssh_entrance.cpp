#include "host_agent/access/ssh_entrance.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "host_agent/access/handover.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/slot_group.hpp"

namespace berth::host_agent {
namespace {

constexpr std::size_t sessions_max = 128;
constexpr int waiting_max = 128;
constexpr int hang_up_ms = 2000;
constexpr int not_begun = 127;
constexpr int request_seconds_max = 5;  // a client that says nothing must not hold the job's end up

// For who has shown the key, and sits before a terminal.
constexpr std::string_view greeting =
    "Files in /work stay until the job is cleaned; /tmp is memory of the job.\r\n"
    "A port of the job on your machine: ssh -L 8888:localhost:8888 ...\r\n";

void say(int to, std::string_view text) {
    static_cast<void>(!::write(to, text.data(), text.size()));
}

// In the child of a process with threads: only what is safe there. Begins when it is told to.
[[noreturn]] void become_told(char* const* words, const std::array<int, 3>& files, int told) {
    constexpr int kept = 3;
    bool good = true;
    for (int i = 0; i < 3; ++i) good = good && ::dup2(files[static_cast<std::size_t>(i)], i) == i;
    if (!good || ::dup2(told, kept) != kept) ::_exit(not_begun);
    // Else children that begin at once would hold each other's words, and wait for ever without us.
    ::close_range(kept + 1, ~0U, 0);
    char word = 0;
    if (::read(kept, &word, 1) != 1) ::_exit(not_begun);
    ::close(kept);
    ::setsid();
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(words[0], words);
    ::_exit(not_begun);
}

// With the descriptors as its input, output and error, in a session of its own. What is one of a
// slot is counted with it before it begins, and so is all that it starts.
pid_t start(const std::vector<std::string>& arguments, const std::array<int, 3>& files,
            const std::string& group) {
    std::vector<char*> words;
    for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
    const Descriptor told(ends[0]);
    const Descriptor telling(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) become_told(words.data(), files, told.number());
    if (pid < 0) return -1;
    try {
        if (!group.empty()) SlotGroup::called(group).take_in(pid);
        if (::write(telling.number(), "\n", 1) == 1) return pid;
    } catch (const std::exception& error) {
        log(Level::error, "ssh_not_counted", {{"why", error.what()}});
    }
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return -1;
}

// The system's folders as the host has them: links where it has links.
void add_system(std::vector<std::string>& out) {
    out.insert(out.end(), {"--ro-bind", "/usr", "/usr"});
    for (const char* folder : {"/bin", "/lib", "/lib64"}) {
        std::error_code ignored;
        if (std::filesystem::is_symlink(folder, ignored))
            out.insert(out.end(), {"--symlink", std::filesystem::read_symlink(folder), folder});
        else if (std::filesystem::exists(folder, ignored))
            out.insert(out.end(), {"--ro-bind", folder, folder});
    }
}

// Sees the work volume and the system's programs, and can do nothing with the latter.
std::vector<std::string> sftp_command(const std::string& work, const std::string& passwd,
                                      bool writing) {
    std::vector<std::string> out = {"bwrap",         "--unshare-ipc", "--unshare-pid",
                                    "--unshare-net", "--unshare-uts", "--die-with-parent",
                                    "--clearenv"};
    add_system(out);
    // Folders that bwrap makes by itself only root may enter.
    for (const char* folder : {"/etc", "/dev"})
        out.insert(out.end(), {"--perms", "0755", "--dir", folder});
    out.insert(out.end(),
               {"--dev-bind", "/dev/null", "/dev/null", "--ro-bind", passwd, "/etc/passwd",
                writing ? "--bind" : "--ro-bind", work, "/work", "--chdir", "/work",
                "/usr/bin/setpriv", fmt::format("--reuid={}", workload_user),
                fmt::format("--regid={}", workload_user), "--clear-groups", "--no-new-privs",
                "--bounding-set=-all", "--inh-caps=-all", "/usr/lib/openssh/sftp-server"});
    if (!writing) out.emplace_back("-R");
    return out;
}

}  // namespace

std::string write_entry(const EntryRequest& request) {
    std::string out(1, request.terminal ? 't' : '-');
    out += request.terminal_kind;
    out += '\0';
    return out + request.command;
}

std::optional<EntryRequest> read_entry(std::string_view bytes) {
    const std::size_t middle = bytes.find('\0');
    if (bytes.empty() || middle == std::string_view::npos) return {};
    EntryRequest out{.terminal = bytes[0] == 't',
                     .terminal_kind = std::string(bytes.substr(1, middle - 1)),
                     .command = std::string(bytes.substr(middle + 1))};
    if (out.command.find('\0') != std::string::npos) return {};
    return out;
}

struct SshEntrance::Session {
    int socket = -1;
    std::array<int, 3> files{-1, -1, -1};
    EntryRequest request;
    std::atomic<bool> ending = false;
    std::atomic<bool> over = false;
    int wake = ::eventfd(0, EFD_CLOEXEC);
    std::thread thread;

    ~Session() {
        if (thread.joinable()) thread.join();
        let_go();
        if (socket >= 0) ::close(socket);
        ::close(wake);
    }
    // sshd waits until nobody has the client's descriptors any more.
    void let_go() {
        for (int& each : files) {
            if (each >= 0) ::close(each);
            each = -1;
        }
    }
    void end() {
        ending = true;
        ::eventfd_write(wake, 1);
    }
    bool receive();
    void conduct(pid_t pid, const std::string& pid_file);
    void hang_up(pid_t pid, const std::string& pid_file) const;
};

// One message with exactly three descriptors.
bool SshEntrance::Session::receive() {
    const timeval most{.tv_sec = request_seconds_max, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    auto handed = take_handed(socket, entry_bytes_max);
    if (!handed || handed->files.size() != files.size()) return false;
    for (std::size_t i = 0; i < files.size(); ++i) files[i] = handed->files[i].release();
    const auto read = read_entry(handed->bytes);
    if (read) request = *read;
    return read.has_value();
}

SshEntrance::SshEntrance(EntrancePlace place, std::function<std::optional<std::string>()> container)
    : place_(std::move(place)), container_(std::move(container)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (place_.socket.size() >= sizeof address.sun_path)
        throw std::runtime_error("the path of the SSH socket is too long: " + place_.socket);
    place_.socket.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(place_.socket.c_str());
    listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::chmod(place_.socket.c_str(), 0600) != 0 ||
        ::chown(place_.socket.c_str(), place_.user, static_cast<gid_t>(-1)) != 0 ||
        ::listen(listener_, waiting_max) != 0) {
        ::close(listener_);
        throw std::runtime_error("the SSH socket cannot be made: " + place_.socket);
    }
    const std::string names = place_.socket + ".passwd";
    std::ofstream(names) << fmt::format("renter:x:{0}:{0}::/work:/bin/sh\n", workload_user);
    // sftp-server reads it as the renter's user, whatever the agent's umask is.
    ::chmod(names.c_str(), 0644);
    ending_ = ::eventfd(0, EFD_CLOEXEC);
    accepting_ = std::thread([this] { accept_all(); });
}

SshEntrance::~SshEntrance() {
    ::eventfd_write(ending_, 1);
    accepting_.join();
    end_sessions();
    sessions_.clear();
    ::close(listener_);
    ::close(ending_);
}

void SshEntrance::end_sessions() {
    const std::lock_guard lock(mutex_);
    for (const auto& session : sessions_) session->end();
    sessions_.clear();
}

void SshEntrance::collect() {
    const std::lock_guard lock(mutex_);
    sessions_.remove_if([](const auto& session) { return session->over.load(); });
}

void SshEntrance::accept_all() {
    while (true) {
        std::array<pollfd, 2> watched{{{listener_, POLLIN, 0}, {ending_, POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        if (watched[1].revents != 0) return;
        auto session = std::make_unique<Session>();
        session->socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (session->socket < 0) continue;
        ucred peer{};
        socklen_t size = sizeof peer;
        if (::getsockopt(session->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
            peer.uid != place_.user) {
            log(Level::warn, "ssh_peer_refused", {{"uid", peer.uid}});
            continue;
        }
        collect();
        const std::lock_guard lock(mutex_);
        if (sessions_.size() == sessions_max) continue;
        Session& kept = *sessions_.emplace_back(std::move(session));
        kept.thread = std::thread([this, &kept] {
            serve(kept);
            kept.let_go();
            kept.over = true;
        });
    }
}

std::vector<std::string> SshEntrance::command_for(const EntryRequest& request,
                                                  const std::string& pid_file) const {
    const auto container = container_();
    if (request.command == sftp_request)
        return sftp_command(place_.work, place_.socket + ".passwd", container.has_value());
    if (!container) return {};
    // As podman started it: user, limits, system calls and all.
    std::vector<std::string> out = {"runc", "exec", "--cwd", "/work", "--pid-file", pid_file};
    out.insert(out.end(), {"--env", "USER=renter", "--env", "LOGNAME=renter"});
    if (request.terminal)
        out.insert(out.end(), {"--tty", "--env", "TERM=" + request.terminal_kind});
    out.insert(out.end(), {*container, "/bin/sh", "-c"});
    if (!request.command.empty())
        out.push_back(request.command);
    else
        out.emplace_back("if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi");
    return out;
}

void SshEntrance::serve(Session& session) {
    if (!session.receive()) return;
    const std::string pid_file = fmt::format("{}.{}", place_.socket, session.socket);
    const std::vector<std::string> command = command_for(session.request, pid_file);
    if (command.empty())
        say(session.files[2], "the job has ended; sftp and scp read /work until it is cleaned\r\n");
    else if (session.request.terminal && session.request.command.empty())
        say(session.files[2], greeting);
    const pid_t pid = command.empty() ? -1 : start(command, session.files, place_.group);
    if (pid < 0) {
        const std::int32_t status = 1;
        ::send(session.socket, &status, sizeof status, MSG_NOSIGNAL);
        return;
    }
    session.let_go();
    session.conduct(pid, pid_file);
    ::unlink(pid_file.c_str());
}

// Until it ends, its client goes, or the job does.
void SshEntrance::Session::conduct(pid_t pid, const std::string& pid_file) {
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    bool here = true;
    while (here && !ending) {
        std::array<pollfd, 3> watched{
            {{handle, POLLIN, 0}, {socket, POLLIN, 0}, {wake, POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        if (watched[0].revents != 0) break;
        if (watched[1].revents == 0) continue;
        char resized = 0;
        here = ::recv(socket, &resized, 1, 0) == 1;
        if (here) ::kill(pid, SIGWINCH);
    }
    pollfd ended{handle, POLLIN, 0};
    if (::poll(&ended, 1, 0) == 0) {
        if (request.terminal) hang_up(pid, pid_file);
        if (!request.terminal || ::poll(&ended, 1, hang_up_ms) == 0) ::kill(pid, SIGKILL);
    }
    ::close(handle);
    int raw = 0;
    while (::waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
    }
    const std::int32_t status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    ::send(socket, &status, sizeof status, MSG_NOSIGNAL);
}

// As a terminal does that is gone.
void SshEntrance::Session::hang_up(pid_t pid, const std::string& pid_file) const {
    pid_t inner = 0;
    std::ifstream(pid_file) >> inner;
    if (inner > 0) ::kill(inner, SIGHUP);
    ::kill(pid, SIGHUP);
}

}  // namespace berth::host_agent
